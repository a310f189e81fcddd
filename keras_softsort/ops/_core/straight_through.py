"""The straight-through gradient: the value of one tensor, the gradient of another."""

from __future__ import annotations

import tensorflow as tf


def straight_through(hard: tf.Tensor, soft: tf.Tensor) -> tf.Tensor:
    """`hard` with the gradient of `soft`; `soft + stop_gradient(hard - soft)` would round away from 0 and 1."""

    @tf.custom_gradient
    def replace(_: tf.Tensor) -> tuple:
        return tf.stop_gradient(hard), lambda upstream: upstream

    return replace(soft)


def mappable_straight_through(hard: tf.Tensor, soft: tf.Tensor) -> tf.Tensor:
    """The same without a custom gradient, which `tf.vectorized_map` drops; NaN where `soft` is not finite."""
    return tf.stop_gradient(hard) + (soft - tf.stop_gradient(soft))
