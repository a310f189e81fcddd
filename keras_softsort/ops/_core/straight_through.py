"""Straight-through gradients: the value of one tensor with the gradient of another."""

from __future__ import annotations

import tensorflow as tf


def straight_through(hard: tf.Tensor, soft: tf.Tensor) -> tf.Tensor:
    """Return `hard` with the gradient of `soft`; `soft + stop_gradient(hard - soft)` would have rounding errors."""

    @tf.custom_gradient
    def replace(soft: tf.Tensor, hard: tf.Tensor) -> tuple:
        # Add 0 with a gradient of 1, because `tf.vectorized_map` drops custom gradients.
        zero = tf.where(tf.math.is_finite(soft), soft - tf.stop_gradient(soft), tf.zeros_like(soft))
        return tf.stop_gradient(hard) + zero, lambda upstream: (upstream, None)

    return replace(soft, hard)


def mappable_straight_through(hard: tf.Tensor, soft: tf.Tensor) -> tf.Tensor:
    """Return `hard` with the gradient of `soft`, without a custom gradient; NaN where `soft` is not finite."""
    return tf.stop_gradient(hard) + (soft - tf.stop_gradient(soft))
