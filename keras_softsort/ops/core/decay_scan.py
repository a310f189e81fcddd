"""Sums along sorted lists whose weights decay exponentially with distance, in blocks."""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort.ops.core.axes import ceil_division

BLOCK = 64
# Positions of a block no farther apart than this have exponentials in range.
SAFE_DISTANCE = {tf.float32: 30.0, tf.float64: 300.0}
# Levels of nested blocks for an unknown list size: up to 64^4 positions.
MAX_LEVELS = 4


def decay_scan(positions: tf.Tensor, values: tf.Tensor, dtype: tf.DType | None = None) -> tf.Tensor:
    """Compute `S_i = sum_{j <= i} exp(positions_j - positions_i) values_j` for positions that do not decrease.

    `positions` are `[L, n]`; `values` and the result are `[L, d, n]`. Exponentials of distances are computed in
    `dtype`, by default that of the values. No exponent is above `SAFE_DISTANCE`. O(n log 64) time and O(n) memory; the
    graph does not grow with n. Gradients are sums of the same kind.
    """
    size = positions.shape[-1]
    dtype = dtype or values.dtype
    if size is None:
        return _scan_of_any_size(positions, values, dtype)
    levels = max(math.ceil(math.log(max(size, 2), BLOCK)), 1)
    return _sums(positions[:, tf.newaxis, :], values, levels, dtype)


def _sums(positions: tf.Tensor, values: tf.Tensor, levels: int, dtype: tf.DType) -> tf.Tensor:
    size = tf.shape(positions)[-1]
    blocks = ceil_division(size, BLOCK)
    inside = tf.minimum(tf.range(blocks * BLOCK), size - 1)
    padded = tf.pad(values, [[0, 0], [0, 0], [0, blocks * BLOCK - size]])
    positions, values = (
        tf.reshape(each, tf.concat([tf.shape(each)[:2], [blocks, BLOCK]], axis=0))
        for each in (tf.gather(positions, inside, axis=-1), padded)
    )
    values = _within_blocks(positions, values, dtype)
    if levels > 1:
        ends = positions[..., :-1, -1]
        before = _sums(ends, values[..., :-1, -1], levels - 1, dtype)[..., tf.newaxis]
        more = _decay(ends[..., tf.newaxis] - positions[..., 1:, :], dtype, values) * before
        values = tf.concat([values[..., :1, :], values[..., 1:, :] + more], axis=-2)
    return tf.reshape(values, tf.concat([tf.shape(values)[:2], [blocks * BLOCK]], axis=0))[..., :size]


def _within_blocks(positions: tf.Tensor, values: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """The sums over the positions of the same block up to each, for blocks `[..., BLOCK]`."""
    # False for NaN, which affects only its own list, whichever branch runs.
    is_far = positions[..., -1] - positions[..., 0] > SAFE_DISTANCE[values.dtype]
    return tf.cond(
        tf.reduce_any(is_far),
        lambda: _by_doubling(positions, values, dtype),
        lambda: _by_running_sums(positions, values),
    )


def _by_running_sums(positions: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """One running sum of values times exp(distance from the start of the block), for safe distances."""
    growth = tf.cast(tf.exp(positions - positions[..., :1]), values.dtype)
    return tf.cumsum(growth * values, axis=-1) / growth


def _by_doubling(positions: tf.Tensor, values: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Sums over 2, 4, 8, ... positions, for any distances."""
    step = 1
    while step < BLOCK:
        decay = _decay(positions[..., :-step] - positions[..., step:], dtype, values)
        values = tf.concat([values[..., :step], values[..., step:] + decay * values[..., :-step]], axis=-1)
        step *= 2
    return values


# One function for all uses in a graph, because tracing it anew takes longer than tracing the rest of an operator.
_scan_of_any_size = tf.function(
    lambda positions, values, dtype: _sums(positions[:, tf.newaxis, :], values, MAX_LEVELS, dtype),
    autograph=False,
    reduce_retracing=True,
)


def _decay(difference: tf.Tensor, dtype: tf.DType, values: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.exp(tf.cast(difference, dtype)), values.dtype)


def laplace_sums(positions: tf.Tensor, values: tf.Tensor, dtype: tf.DType | None = None) -> tuple[tf.Tensor, tf.Tensor]:
    """Compute `sum_j exp(-|p_j - p_i|) v_j` over j <= i, and over j >= i: `[L, d, n]` each; see `decay_scan`."""
    # One scan for both directions is half the program to compile.
    both_ways = tf.concat([positions, -tf.reverse(positions, axis=[1])], axis=0)
    values = tf.concat([values, tf.reverse(values, axis=[2])], axis=0)
    before, after = tf.split(decay_scan(both_ways, values, dtype), 2)
    return before, tf.reverse(after, axis=[2])
