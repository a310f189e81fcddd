"""Sums of exponentials of what is left when items are chosen one after another, for any range of logits."""

from __future__ import annotations

import math

import tensorflow as tf

# Exponentials relative to the largest log-score, and their sums, stay in the range of float64 up to this difference.
SAFE_RANGE = 600.0


def subtract_max(logits: tf.Tensor) -> tf.Tensor:
    """Subtract the largest of each list from `logits`, in float64, so that differences keep their precision."""
    wide = tf.cast(logits, tf.float64)
    peak = tf.stop_gradient(tf.reduce_max(wide, axis=-1, keepdims=True))
    return wide - tf.where(tf.math.is_inf(peak), tf.zeros_like(peak), peak)


def suffix_logsumexp(relative: tf.Tensor) -> tf.Tensor:
    """`logsumexp(relative[..., i:])` for each i, for the result of `subtract_max`. NaN only spreads within its list.

    If the range of all values allows it, the result comes from sums of exponentials, which is fastest and as precise.
    """
    # NaN compares as within the range, and sums of exponentials keep it within its list.
    wide = tf.reduce_any(tf.logical_and(relative > -math.inf, relative < -SAFE_RANGE))

    @tf.custom_gradient
    def choose(relative: tf.Tensor) -> tuple:
        unused = [tf.zeros_like(relative)] * 2
        result, terms, sums = tf.cond(
            wide, lambda: (blocked_suffix_logsumexp(relative), *unused), lambda: _by_sums(relative)
        )

        # The automatic gradient of a conditional would store the intermediate results of both branches.
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            return tf.cond(
                wide,
                lambda: _gradient_by_blocks(relative, upstream),
                lambda: _gradient_by_sums(terms, sums, upstream),
            )

        return result, gradient

    return choose(relative)


def _by_sums(relative: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The suffix logsumexp, -inf for an empty sum, with the exponentials and their sums."""
    terms = tf.exp(relative)
    sums = tf.cumsum(terms, axis=-1, reverse=True)
    return tf.math.log(sums), terms, sums


def _gradient_by_sums(terms: tf.Tensor, sums: tf.Tensor, upstream: tf.Tensor) -> tf.Tensor:
    """The gradient of `_by_sums`: the sum over i <= j of upstream_i terms_j / sums_i."""
    return terms * tf.cumsum(tf.math.divide_no_nan(upstream, sums), axis=-1)


def _gradient_by_blocks(values: tf.Tensor, upstream: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        tape.watch(values)
        result = blocked_suffix_logsumexp(values)
    return tape.gradient(result, values, output_gradients=upstream)


def blocked_suffix_logsumexp(values: tf.Tensor) -> tf.Tensor:
    """The suffix logsumexp within blocks of about sqrt(n) values and over later blocks: O(n^1.5) time and memory."""
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
    """`suffix_logsumexp` by its definition: O(n^2)."""
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
