"""Gradients of straight-through results and of lists that cannot be computed, and forward mode, which is refused."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._internal.not_a_number import zero_or_nan
from keras_softsort.ops.core.tracing import is_watched


def straight_through(hard: tf.Tensor, soft: tf.Tensor) -> tf.Tensor:
    """Return `hard` with the gradient of `soft`; NaN where `soft` is NaN.

    `soft + stop_gradient(hard - soft)` would round. `tf.vectorized_map` would drop a custom gradient.
    """
    is_infinite = tf.math.is_inf(soft)  # whose difference from itself is NaN
    return tf.stop_gradient(hard) + tf.where(is_infinite, tf.zeros_like(soft), soft - tf.stop_gradient(soft))


def with_slopes(result: tf.Tensor, slopes: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """Return `result` [B] with the gradient `slopes` [B, n] for `x` [B, n], and no second derivatives.

    `tf.vectorized_map` would drop a custom gradient.
    """
    moved = tf.math.multiply_no_nan(tf.stop_gradient(slopes), x - tf.stop_gradient(x))  # 0, also for infinite slopes
    return tf.stop_gradient(result) + tf.reduce_sum(moved, axis=-1)


def nan_where(failed: tf.Tensor, result: tf.Tensor, *anchors: tf.Tensor) -> tf.Tensor:
    """Make `result` NaN where `failed` holds, with a NaN gradient for it and each of `anchors`, which broadcast."""
    poison = zero_or_nan(failed, result.dtype)
    for anchor in anchors:
        # Without the inner `tf.where`, the NaN would reach the gradient of other lists, since 0 * NaN is NaN.
        result += poison * tf.cast(tf.where(failed, anchor, tf.zeros_like(anchor)), result.dtype)
    return result + poison


def nan_lists(failed: tf.Tensor, results: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
    """Make `results` [B] NaN where `failed` [B] holds, with a NaN gradient for `scores` [B, ...]."""
    return nan_where(failed, results, tf.reduce_sum(scores, axis=list(range(1, scores.shape.rank))))


def refuse_own_gradient(operator: str, result: tf.Tensor) -> tf.Tensor:
    """Return `result` of a custom gradient, with an error for the gradient of its operations.

    `tf.vectorized_map` drops the custom gradient, and that of the operations is wrong.
    """
    message = f"{operator} has no gradient around tf.vectorized_map: take it inside, or use tf.map_fn"
    return tf.raw_ops.PreventGradient(input=result, message=message)


def refuse_forward_mode(operator: str, *tensors: tf.Tensor) -> None:
    """Raise if `tf.autodiff.ForwardAccumulator` watches one of `tensors`, eagerly or in the function being traced."""
    if is_watched(tensors):
        raise RuntimeError(
            f"{operator} has no derivative in forward mode (tf.autodiff.ForwardAccumulator); use tape.jacobian instead"
        )
