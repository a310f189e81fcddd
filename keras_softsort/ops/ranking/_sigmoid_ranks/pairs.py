"""Ranks by the comparison of all pairs, with a gradient in closed form."""

from __future__ import annotations

import tensorflow as tf


class Pairs:
    """The pairs of lists [B, n] of finite scores in units of the temperature."""

    def __init__(self, scores: tf.Tensor) -> None:
        # The sigmoid of the lead of item j over item i: [B, i, j].
        self._shares = tf.sigmoid(scores[:, tf.newaxis, :] - scores[:, :, tf.newaxis])

    def ranks(self) -> tf.Tensor:
        """1 + sum_{j != i} sigmoid(s_j - s_i): [B, n]."""
        # The sum contains sigmoid(0) = 0.5 of the item itself, which does not belong to the rank.
        return 0.5 + tf.reduce_sum(self._shares, axis=2)

    def gradient(self, upstream: tf.Tensor) -> tf.Tensor:
        """The gradient of item k: `sum_i (d_i - d_k) slope_ik`, since the slope of the sigmoid is even."""
        differences = upstream[:, :, tf.newaxis] - upstream[:, tf.newaxis, :]
        # One operation for `differences * shares * (1 - shares)`.
        return tf.reduce_sum(tf.raw_ops.SigmoidGrad(y=self._shares, dy=differences), axis=1)
