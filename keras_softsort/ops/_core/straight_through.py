"""The straight-through gradient: the value of one tensor, the gradient of another."""

from __future__ import annotations

import tensorflow as tf


def straight_through(hard: tf.Tensor, soft: tf.Tensor) -> tf.Tensor:
    """`hard` with the gradient of `soft`; `soft + stop_gradient(hard - soft)` would round away from 0 and 1."""

    @tf.custom_gradient
    def replace(soft: tf.Tensor, hard: tf.Tensor) -> tuple:
        # Adds 0 with a gradient of 1, for `tf.vectorized_map`, which drops custom gradients of what it maps.
        zero = tf.where(tf.math.is_finite(soft), soft - tf.stop_gradient(soft), tf.zeros_like(soft))
        return tf.stop_gradient(hard) + zero, lambda upstream: (upstream, None)

    return replace(soft, hard)


def mappable_straight_through(hard: tf.Tensor, soft: tf.Tensor) -> tf.Tensor:
    """The same, but NaN where `soft` is not finite; no custom gradient."""
    return tf.stop_gradient(hard) + (soft - tf.stop_gradient(soft))
