"""The logsumexp of a list, and of what is left of it when items are chosen one after another."""

from __future__ import annotations

import math

import tensorflow as tf


def suffix_logsumexp(values: tf.Tensor) -> tf.Tensor:
    """`logsumexp(values[..., i:])` for each i, for values of any range. NaN only spreads within its list.

    It is computed within blocks of about sqrt(n) values and over later blocks: O(n^1.5) time and memory.
    """
    shape, count = tf.shape(values), values.shape[-1]
    if count is None:
        count = shape[-1]
        size = tf.cast(tf.math.ceil(tf.sqrt(tf.cast(tf.maximum(count, 1), tf.float64))), tf.int32)
    else:
        size = math.isqrt(max(count - 1, 0)) + 1
    padding = -count % size
    unpadded_axes = [[0, 0]] * (values.shape.rank - 1)
    padded = tf.pad(values, [*unpadded_axes, [0, padding]], constant_values=-math.inf)
    blocks = tf.reshape(padded, tf.concat([shape[:-1], [(count + padding) // size, size]], axis=0))
    within = _dense(blocks)
    totals = _dense(within[..., 0])[..., 1:]
    later = tf.pad(totals, [*unpadded_axes, [0, 1]], constant_values=-math.inf)
    both = tf.stack([within, tf.broadcast_to(later[..., tf.newaxis], tf.shape(within))], axis=-1)
    return tf.reshape(logsumexp(both), tf.shape(padded))[..., :count]


def _dense(values: tf.Tensor) -> tf.Tensor:
    """Compute `suffix_logsumexp` by its definition: O(n^2)."""
    positions = tf.range(tf.shape(values)[-1])
    counted = positions >= positions[:, tf.newaxis]
    return logsumexp(tf.where(counted, values[..., tf.newaxis, :], tf.constant(-math.inf, values.dtype)))


def logsumexp(values: tf.Tensor) -> tf.Tensor:
    """The logsumexp over the last axis, with a gradient of 0, not NaN, if all values are -inf."""
    peak = tf.stop_gradient(tf.reduce_max(values, axis=-1, keepdims=True))
    peak = tf.where(tf.equal(peak, -math.inf), tf.zeros_like(peak), peak)
    total = tf.reduce_sum(tf.exp(values - peak), axis=-1)
    empty = tf.equal(total, 0)
    logs = tf.math.log(tf.where(empty, tf.ones_like(total), total))
    return tf.where(empty, tf.constant(-math.inf, values.dtype), tf.squeeze(peak, -1) + logs)
