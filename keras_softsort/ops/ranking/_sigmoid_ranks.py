"""Approximate ranks by comparing all pairs, with a gradient that keeps no pair."""

from __future__ import annotations

import tensorflow as tf


def sigmoid_ranks(scores: tf.Tensor, tau: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """1 + sum_{j != i} sigmoid((s_j - s_i) / tau) over the kept items j: [B, n]; without meaning where masked.

    The slope of the sigmoid is even, so the gradient of item k is `sum_i (d_i - d_k) slope_ik / tau`, one more pass
    over the pairs.
    """

    @tf.custom_gradient
    def ranks(scores: tf.Tensor) -> tuple:
        kept = tf.cast(mask, scores.dtype)

        def above() -> tf.Tensor:
            """How much the item j lies above the item i, from 0 to 1: [B, i, j]."""
            return tf.sigmoid((scores[:, tf.newaxis, :] - scores[:, :, tf.newaxis]) / tau)

        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            upstream = upstream * kept
            shares = above()
            slopes = shares * (1 - shares) * kept[:, tf.newaxis, :] * kept[:, :, tf.newaxis]
            return tf.reduce_sum((upstream[:, :, tf.newaxis] - upstream[:, tf.newaxis, :]) * slopes, axis=1) / tau

        # An item lies half above itself, which the sum holds and the rank does not.
        return 0.5 + tf.reduce_sum(above() * kept[:, tf.newaxis, :], axis=2), gradient

    return ranks(scores)
