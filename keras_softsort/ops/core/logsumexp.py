"""Sums of exponentials of any range: of a list, and of each item and all later ones."""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.temperature import excluded


class ScaledSums(NamedTuple):
    """Sums of exponentials, `total * exp(peak)`; peaks have no gradient. Empty sums are 0 at the lowest peak."""

    peak: tf.Tensor  # the largest exponent
    total: tf.Tensor

    def log(self) -> tf.Tensor:
        """Return the logarithms of the sums. An empty sum gives its peak with a gradient of 0."""
        is_empty = tf.equal(self.total, 0)
        logs = tf.math.log(tf.where(is_empty, tf.ones_like(self.total), self.total))
        return self.peak + tf.where(is_empty, tf.zeros_like(logs), logs)


def scaled_sums(exponents: tf.Tensor, factors: tf.Tensor | None = None) -> ScaledSums:
    """Compute `sum_k f_k exp(x_k)`, 0 if empty, over the last axis, for exponents of any range and factors above 1."""
    peak = tf.maximum(tf.stop_gradient(tf.reduce_max(exponents, axis=-1)), exponents.dtype.min / 8)
    terms = tf.exp(exponents - peak[..., tf.newaxis])
    return ScaledSums(peak, tf.reduce_sum(terms if factors is None else factors * terms, axis=-1))


def is_excluded(exponents: tf.Tensor) -> tf.Tensor:
    """Mark exponents that add nothing, and the logarithms of empty sums."""
    return exponents <= exponents.dtype.min / 8


def in_float64(exponents: tf.Tensor) -> tf.Tensor:
    """Cast exponents to float64. Excluded ones stay excluded, and -inf stays below all others."""
    if exponents.dtype == tf.float64:
        return exponents
    wide = tf.cast(exponents, tf.float64)
    return tf.where(is_excluded(exponents), tf.minimum(wide, excluded(tf.float64)), wide)


def suffix_sums(values: tf.Tensor) -> ScaledSums:
    """Compute `sum_{j >= i} exp(values_j)` for each i, along the last axis. NaN only spreads within its list.

    Sums within blocks of about sqrt(n) values are added to those of all later blocks: O(n^1.5) time and memory.
    """
    shape, count = tf.shape(values), values.shape[-1]
    if count is None:
        count = shape[-1]
        size = tf.cast(tf.math.ceil(tf.sqrt(tf.cast(tf.maximum(count, 1), tf.float64))), tf.int32)
    else:
        size = math.isqrt(max(count - 1, 0)) + 1
    padding = -count % size
    padded = tf.pad(values, [*[[0, 0]] * (values.shape.rank - 1), [0, padding]], constant_values=values.dtype.min / 4)
    blocks = tf.reshape(padded, tf.concat([shape[:-1], [(count + padding) // size, size]], axis=0))
    positions = tf.range(size)
    within = scaled_sums(_where(positions >= positions[:, tf.newaxis], blocks))
    starts = tf.range(tf.shape(blocks)[-2])
    later = scaled_sums(
        _where(starts > starts[:, tf.newaxis], within.peak[..., 0]), within.total[..., tf.newaxis, :, 0]
    )
    both = (
        tf.stack([own, tf.broadcast_to(after[..., tf.newaxis], tf.shape(own))], axis=-1)
        for own, after in zip(within, later, strict=True)
    )
    return ScaledSums(*(tf.reshape(part, tf.shape(padded))[..., :count] for part in scaled_sums(*both)))


def _where(is_counted: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Repeat the values [..., m] for each row of `is_counted` [m, m], excluded where it is False."""
    return tf.where(is_counted, values[..., tf.newaxis, :], excluded(values.dtype))
