"""Approximate ranks from all pairs of items, with a gradient that stores no pairs."""

from __future__ import annotations

import tensorflow as tf


def sigmoid_ranks(scores: tf.Tensor, tau: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """1 + sum_{j != i} sigmoid((s_j - s_i) / tau) over the valid items j: [B, n]; undefined where masked.

    `tau` is a scalar or [B, 1]. The slope of the sigmoid is even, so the gradient of item k is
    `sum_i (d_i - d_k) slope_ik / tau`, one more pass over the pairs.
    """

    @tf.custom_gradient
    def ranks(scores: tf.Tensor, tau: tf.Tensor) -> tuple:
        valid, wide = tf.cast(mask, scores.dtype), tau[:, :, tf.newaxis]

        def leads() -> tf.Tensor:
            """The difference of the scores of items j and i in units of tau: [B, i, j]."""
            return (scores[:, tf.newaxis, :] - scores[:, :, tf.newaxis]) / wide

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            upstream = upstream * valid
            lead = leads()
            shares = tf.sigmoid(lead)
            slopes = shares * (1 - shares) * valid[:, tf.newaxis, :] * valid[:, :, tf.newaxis]
            of_scores = tf.reduce_sum((upstream[:, :, tf.newaxis] - upstream[:, tf.newaxis, :]) * slopes, axis=1) / tau
            # A difference may be infinite where its slope is 0.
            of_tau = tf.reduce_sum(tf.math.multiply_no_nan(lead, slopes), axis=2)
            return of_scores, -tf.reduce_sum(upstream * of_tau, axis=1, keepdims=True) / tau

        # The sum contains sigmoid(0) = 0.5 of the item itself, which does not belong to the rank.
        return 0.5 + tf.reduce_sum(tf.sigmoid(leads()) * valid[:, tf.newaxis, :], axis=2), gradient

    return ranks(scores, tf.broadcast_to(tau, [tf.shape(scores)[0], 1]))
