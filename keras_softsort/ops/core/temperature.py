"""Scores in units of the temperature, relative to one that keeps their digits."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def nearest_to_zero(scores: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """The valid score nearest 0 of each list [..., n], without a gradient: [..., 1]; any number without valid items.

    Relative to it, scores with a common offset are small, and one that is far from the others takes no digits of them.
    """
    largest = tf.constant(scores.dtype.max, scores.dtype)
    valid = scores if mask is None else tf.where(mask, scores, largest)
    sizes = tf.abs(valid)
    least = tf.reduce_min(sizes, axis=-1, keepdims=True)
    # If x and -x are both nearest to 0, either is right.
    found = tf.reduce_max(tf.where(tf.equal(sizes, least), valid, -largest), axis=-1, keepdims=True)
    return tf.stop_gradient(found)


def excluded(dtype: tf.DType) -> tf.Tensor:
    """An exponent that adds nothing to a sum of exponentials, as a log-sum-exp reads it. Twice it is finite."""
    return tf.constant(dtype.min / 4, dtype)


def softmax_logits(scores: tf.Tensor, mask: tf.Tensor | None, tau: tf.Tensor) -> tf.Tensor:
    """Logits [B, n] with the softmax of finite scores, 0 where masked, in units of `tau`. Masked ones are `excluded`.

    They are relative to the largest score, so that the quotients and the gradient of tau keep their precision.
    """
    lowest = excluded(scores.dtype)
    if not _is_one(tau):
        valid = scores if mask is None else tf.where(mask, scores, lowest)
        largest = tf.stop_gradient(tf.reduce_max(valid, axis=-1, keepdims=True))
        scores = (scores - (largest if mask is None else tf.where(mask, largest, 0))) / tau
    # A sum: its gradient takes no operation, because masked items have the gradient 0 already.
    return scores if mask is None else scores + tf.where(mask, tf.constant(0, scores.dtype), lowest)


def pair_scores(scores: tf.Tensor, mask: tf.Tensor | None, tau: tf.Tensor) -> tf.Tensor:
    """Finite scores [B, n] in units of `tau`, up to a constant, for a loss that takes differences of pairs itself.

    They are relative to the one nearest 0, so that those near each other keep their digits beside one that is far from
    all others. They are not changed if tau is known to be 1: their differences are then exact.
    """
    if _is_one(tau):
        return scores
    return _difference(scores, nearest_to_zero(scores, mask), mask) / tau


def _is_one(tau: Any) -> bool:
    """Whether `tau` is known to be 1 when traced. Run op by op, it may have a gradient whatever its value."""
    known = None if tf.executing_eagerly() else tf.get_static_value(tau)
    return known is not None and known.ndim == 0 and known == 1


def _difference(scores: tf.Tensor, origin: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """The scores relative to `origin`, 0 where masked."""
    difference = scores - origin
    return difference if mask is None else tf.where(mask, difference, 0)


@tf.custom_gradient
def within_range(pair_scores: tf.Tensor) -> tuple:
    """The scores of pairs, none so far away that a difference overflows. A quotient may be beyond all numbers.

    The gradient is not changed.
    """
    farthest = pair_scores.dtype.max / 16
    return tf.clip_by_value(pair_scores, -farthest, farthest), lambda upstream: upstream


def relative_scores(scores: tf.Tensor, mask: tf.Tensor | None, tau: tf.Tensor) -> tf.Tensor:
    """The `pair_scores` within range. Masked ones are `excluded`, and a score of -inf stays below all others."""
    is_valid = tf.math.is_finite(scores)
    is_valid = is_valid if mask is None else tf.logical_and(mask, is_valid)
    below = within_range(pair_scores(scores, is_valid, tau))
    return tf.where(is_valid, below, tf.minimum(tf.stop_gradient(scores), excluded(scores.dtype)))


def temperature_per_example(tau: tf.Tensor, lists: tf.Tensor) -> tf.Tensor:
    """Return `tau`, a scalar or one number per example `[batch]`, to broadcast against the leading axes of `lists`."""
    return tau if tau.shape.rank == 0 else tf.reshape(tau, [-1] + [1] * (lists.shape.rank - 2))


def temperature_per_list(tau: tf.Tensor, tensor: tf.Tensor, inner: int = 1) -> tf.Tensor:
    """`tau` of `arguments.temperature` for flattened lists: a scalar, or [B, 1, ...] with `inner` axes of size 1."""
    if tau.shape.rank == 0:
        return tau
    leading = tf.shape(tensor)[: tensor.shape.rank - inner]
    every = tf.reshape(tf.broadcast_to(tau, leading), [-1])
    return tf.reshape(every, tf.concat([tf.shape(every), [1] * inner], axis=0))


def is_nan_or_infinity(values: tf.Tensor) -> tf.Tensor:
    """Mark NaN and +inf."""
    return tf.logical_or(tf.math.is_nan(values), values > values.dtype.max)
