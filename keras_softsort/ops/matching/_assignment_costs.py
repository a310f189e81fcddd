"""The costs of an exact assignment: which pairs may be made, and what the others cost.

A pair that may not be made costs more than all others together can save, so that as few as possible are made. With a
limit, costs are relative to it, and such a pair costs 0.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.order import take
from keras_softsort.ops.core.temperature import is_nan_or_infinity

# The distance of a column that is not reached.
NEVER = tf.float64.max / 8
# Larger costs count as this one, so that sums of costs stay far from `NEVER`.
MAX_COST = {tf.float32: 0.99 * tf.float32.max, tf.float64: NEVER / 1e6}

# A dual falls by at most twice the largest cost in a round of bids. There are fewer rounds than this and the rows.
MIN_ROUNDS = 16


class Costs(NamedTuple):
    """Matrices of k <= s rows, all of which get a column unless they are masked."""

    cost: tf.Tensor  # [B, k, s] float32 or float64, the largest number for pairs that may not be made
    rows: tf.Tensor  # [B, k] bool: the rows that may be in a pair
    columns: tf.Tensor  # [B, s] bool: the columns that a row can get, as many as these rows or more
    spare: tf.Tensor  # [B] bool: whether there are more
    bound: tf.Tensor  # [B, 1, 1] float64: costs and differences of costs below it are of pairs that may be made
    refusal: tf.Tensor  # [B, 1, 1] float64: the cost of a pair that may not be made
    limit: tf.Tensor  # float64, a scalar or [B, 1, 1], which is subtracted from the others


def costs_of_pairs(cost: tf.Tensor, valid: tf.Tensor, limit: tf.Tensor | None) -> Costs:
    """Return the costs of the pairs that may be made, less the limit."""
    rows, columns = tf.reduce_any(valid, axis=2), tf.reduce_any(valid, axis=1)
    lacking = tf.reduce_sum(tf.cast(rows, tf.int32), axis=1) - tf.reduce_sum(tf.cast(columns, tf.int32), axis=1)
    # Other columns stand in if there are too few for the rows. A row that takes one of them costs 0.
    stands_in = ~columns & (tf.cumsum(tf.cast(~columns, tf.int32), axis=1) <= lacking[:, tf.newaxis])
    refused = tf.constant(cost.dtype.max, cost.dtype)
    others = refused if limit is not None else tf.where(stands_in[:, tf.newaxis], tf.zeros([], cost.dtype), refused)
    largest = tf.constant(MAX_COST[cost.dtype], cost.dtype)
    cost = tf.where(valid, tf.clip_by_value(cost, -largest, largest), others)
    size = tf.reduce_max(tf.where(valid, tf.abs(cost), tf.zeros([], cost.dtype)), axis=[1, 2], keepdims=True)
    size = tf.cast(size, tf.float64) + (0 if limit is None else tf.abs(limit))
    # More than sums of costs, and the duals after all rounds, can differ by.
    bound = 4 * tf.cast(tf.shape(cost)[1] + MIN_ROUNDS, tf.float64) * tf.where(size > 0, size, tf.ones_like(size))
    return Costs(
        cost,
        rows,
        columns=columns | stands_in,
        spare=lacking < 0,
        bound=bound,
        refusal=2 * bound if limit is None else tf.zeros_like(bound),
        limit=tf.zeros([], tf.float64) if limit is None else limit,
    )


def rows_of(costs: Costs, rows: tf.Tensor) -> tf.Tensor:
    """The costs [B, r, s] of `rows` [B, r], in float64."""
    cost = take(costs.cost, rows)
    others = tf.where(costs.columns[:, tf.newaxis], costs.refusal, tf.constant(NEVER, tf.float64))
    return tf.where(cost < cost.dtype.max, tf.cast(cost, tf.float64) - costs.limit, others)


def valid_pairs(scores: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None) -> tf.Tensor:
    """Mark the pairs [..., n, m] of valid rows and columns; none in a matrix where such a pair has NaN or +inf."""
    valid = tf.ones_like(scores, tf.bool)
    if row_mask is not None:
        valid &= row_mask[..., tf.newaxis]
    if column_mask is not None:
        valid &= column_mask[..., tf.newaxis, :]
    return valid & ~tf.reduce_any(valid & is_nan_or_infinity(scores), axis=[-2, -1], keepdims=True)


def has_no_answer(scores: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None) -> tf.Tensor:
    """Whether a valid pair of each matrix has NaN or +inf: bool [...]."""
    valid = valid_pairs(tf.zeros_like(scores), row_mask, column_mask)
    return tf.reduce_any(valid & is_nan_or_infinity(scores), axis=[-2, -1])
