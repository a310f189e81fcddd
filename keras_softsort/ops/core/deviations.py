"""Scores in the standard deviations of their lists."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype, dtype_tiny
from keras_softsort.ops.core.temperature import nearest_to_zero


def checked_scale(scale: Any) -> str | None:
    """Check `scale`: None, or "std" for scores in their standard deviations."""
    return None if scale is None else arguments.one_of("scale", scale, ("std",))


class Deviations(NamedTuple):
    """The standard deviation of each list is `factor * rest`: [..., 1] each.

    `factor`, the largest distance from `origin`, has no gradient. `rest` is at most 1 and has the gradient. Without it,
    a loss of divided scores would shrink all scores until they collapse to 0. No square of a deviation is computed,
    because it could overflow or underflow.
    """

    origin: tf.Tensor  # the score nearest 0, without a gradient
    factor: tf.Tensor
    rest: tf.Tensor

    def total(self) -> tf.Tensor:
        """The standard deviation; 1, without gradient, where it is 0."""
        return self.factor * self.rest

    def of(self, scores: tf.Tensor) -> tf.Tensor:
        """The `scores` [..., n], or differences of scores, in these deviations."""
        return scores / self.factor / self.rest


def deviations(scores: tf.Tensor, mask: tf.Tensor | None) -> Deviations:
    """The standard deviations of the valid scores of each list [..., n] in the compute dtype."""
    scores = tf.cast(scores, compute_dtype(scores.dtype))
    valid = tf.ones_like(scores) if mask is None else tf.cast(mask, scores.dtype)
    scores = scores if mask is None else tf.where(mask, scores, tf.zeros_like(scores))
    origin = nearest_to_zero(scores, mask)
    # From a score of the list, so that equal scores are exactly 0 apart, which they need not be from their mean.
    apart = valid * (scores - origin)
    largest = tf.stop_gradient(tf.reduce_max(tf.abs(apart), axis=-1, keepdims=True))
    is_zero = largest < dtype_tiny(scores.dtype)
    largest = tf.where(is_zero, tf.ones_like(largest), largest)
    sizes = tf.maximum(tf.reduce_sum(valid, axis=-1, keepdims=True), 1)
    apart /= largest
    from_mean = valid * (apart - tf.reduce_sum(apart, axis=-1, keepdims=True) / sizes)
    variances = tf.reduce_sum(tf.square(from_mean), axis=-1, keepdims=True) / sizes
    return Deviations(origin, largest, tf.sqrt(tf.where(is_zero, tf.ones_like(variances), variances)))


def in_deviations(scores: tf.Tensor, mask: tf.Tensor | None, *, from_origin: bool = False) -> tf.Tensor:
    """The scores [..., n] of each list, divided by the standard deviation of its valid ones; 0 where masked.

    `from_origin`: the differences from one score of the list, which lose no digits by an offset of all scores.
    """
    # Without the zeros, masked scores that are not finite would reach the gradient of the deviation: 0 * NaN is NaN.
    valid = scores if mask is None else tf.where(mask, scores, tf.zeros_like(scores))
    units = deviations(valid, mask)
    valid = tf.cast(valid, units.rest.dtype)
    if from_origin:
        valid -= units.origin
        valid = valid if mask is None else tf.where(mask, valid, tf.zeros_like(valid))
    return units.of(valid)
