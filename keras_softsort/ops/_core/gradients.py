"""Values with the gradient of other values: straight-through results, and NaN for lists that cannot be computed."""

from __future__ import annotations

import math

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


def nan_where(failed: tf.Tensor, result: tf.Tensor, *anchors: tf.Tensor) -> tf.Tensor:
    """Make `result` NaN where `failed` holds, with a NaN gradient for `result` and each of `anchors`.

    The bool `failed` and the `anchors` broadcast against `result`. Other entries and their gradients do not change.
    """
    poison = tf.where(failed, tf.constant(math.nan, result.dtype), tf.zeros([], result.dtype))
    for anchor in anchors:
        # Without the inner `tf.where`, the NaN would reach the gradient of other lists, since 0 * NaN is NaN.
        result += poison * tf.cast(tf.where(failed, anchor, tf.zeros_like(anchor)), result.dtype)
    return result + poison


def nan_lists(failed: tf.Tensor, results: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
    """Make `results` [B] NaN where `failed` [B] holds, with a NaN gradient for `scores` [B, ...]."""
    nan = tf.constant(math.nan, results.dtype)
    sums = tf.cast(tf.reduce_sum(scores, axis=list(range(1, scores.shape.rank))), results.dtype)
    # Without the inner `tf.where`, the NaN would reach the gradient of other lists, since 0 * NaN is NaN.
    return tf.where(failed, nan * tf.where(failed, sums, tf.zeros_like(sums)), results)
