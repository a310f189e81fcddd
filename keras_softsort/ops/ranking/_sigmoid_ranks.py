"""Approximate ranks by comparing all pairs, with a gradient in closed form."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.thresholds import is_at_most

# Shares of pairs are stored for the gradient of lists up to this size, and recomputed for longer ones.
STORED_SIZE = 256


def sigmoid_ranks(scores: tf.Tensor, tau: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """1 + sum_{j != i} sigmoid((s_j - s_i) / tau) over the valid items j: [B, n]; undefined where masked.

    `tau` is a scalar or [B, 1]. The slope of the sigmoid is even, so the gradient of item k is
    `sum_i (d_i - d_k) slope_ik / tau`, one more pass over the pairs.
    """
    limit = scores.dtype.max / 8
    # So low that a masked item is ahead of none. TensorFlow adds in less time than it selects.
    valid = tf.cast(mask, scores.dtype)
    offsets = (1 - valid) * (-2 * limit)
    # Ranks depend on differences: relative to the largest score, the gradient of tau keeps the digits of them.
    peak = tf.stop_gradient(tf.reduce_max(scores + offsets, axis=1, keepdims=True))
    return _ranks(tf.math.multiply_no_nan(tf.maximum((scores - peak) / tau, -limit), valid) + offsets)


@tf.custom_gradient
def _ranks(scores: tf.Tensor) -> tuple:
    """The ranks of finite scores in units of the temperature: [B, n]."""

    def pair_shares() -> tf.Tensor:
        """The sigmoid of the lead of item j over item i: [B, i, j]."""
        return tf.sigmoid(scores[:, tf.newaxis, :] - scores[:, :, tf.newaxis])

    shares = pair_shares()
    stored = shares if is_at_most(scores.shape[1], STORED_SIZE) else None

    def gradient(upstream: tf.Tensor) -> tf.Tensor:
        again = pair_shares() if stored is None else stored
        differences = upstream[:, :, tf.newaxis] - upstream[:, tf.newaxis, :]
        # One operation for `differences * again * (1 - again)`.
        return tf.reduce_sum(tf.raw_ops.SigmoidGrad(y=again, dy=differences), axis=1)

    # The sum contains sigmoid(0) = 0.5 of the item itself, which does not belong to the rank.
    return 0.5 + tf.reduce_sum(shares, axis=2), gradient
