"""The exact assignment of a batch of masked matrices, as costs whose rows must all be paired."""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops._core.lists import flatten_lists
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.matching._augmenting_paths import solve
from keras_softsort.ops.matching._initial_pairs import GROUPS, Costs


@export
class MatchResult(NamedTuple):
    """The pairs of a matching of rows (targets) and columns (predictions)."""

    columns: tf.Tensor  # int32 [..., m]: the column of each row, 0 for a row without one
    row_matched: tf.Tensor  # bool [..., m]: whether a row has a column
    rows: tf.Tensor  # int32 [..., n]: the row of each column, 0 for a column without one
    column_matched: tf.Tensor  # bool [..., n]: whether a column has a row


def assign(scores: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None) -> tf.Tensor:
    """`linear_assignment` of checked arguments: the column [..., n] of each row, -1 for none."""
    shape = tf.shape(scores)[:-1]
    if 0 in scores.shape.as_list():
        return tf.fill(shape, -1)
    static_shape = scores.shape[:-1]
    scores = tf.cast(flatten_lists(tf.stop_gradient(scores), inner=2), tf.float64)
    valid = _valid_pairs(scores, row_mask, column_mask)
    size = tf.shape(scores)
    # The algorithm reduces over both axes, which TensorFlow refuses for an axis that is empty at run time.
    padding = [[0, 0], [0, tf.cast(size[1] < 1, tf.int32)], [0, tf.cast(size[2] < 1, tf.int32)]]
    valid = tf.pad(valid, padding)
    # The algorithm pairs every row, so the rows must be the shorter side.
    is_tall = size[1] > size[2]
    axes = tf.where(is_tall, [0, 2, 1], [0, 1, 2])
    cost = tf.transpose(tf.pad(-scores, padding), axes)
    more = [[0, 0], [0, 0], [0, -tf.shape(cost)[2] % GROUPS]]
    pairs, complete = solve(_costs(tf.pad(cost, more), tf.pad(tf.transpose(valid, axes), more)))
    lacking = tf.maximum(size[1] - tf.shape(pairs.column_of)[1], 0)
    columns = tf.pad(pairs.column_of, [[0, 0], [0, lacking]])[:, : size[1]]
    columns = tf.where(is_tall, pairs.row_of[:, : size[1]], columns)
    # Not those of masked columns that replace missing ones.
    right = tf.gather(valid[:, : size[1]], tf.clip_by_value(columns, 0, tf.shape(valid)[2] - 1), batch_dims=2)
    right = tf.logical_and(tf.logical_and(right, columns >= 0), complete[:, tf.newaxis])
    return tf.ensure_shape(tf.reshape(tf.where(right, columns, -1), shape), static_shape)


@traced_if_eager
def matched_pairs(cost: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None) -> MatchResult:
    """`match` of checked arguments."""
    columns = assign(-cost, row_mask, column_mask)
    row_matched = columns >= 0
    row_numbers, column_numbers = tf.range(tf.shape(cost)[-2]), tf.range(tf.shape(cost)[-1])
    pairs = tf.equal(columns[..., tf.newaxis], column_numbers)  # [..., m, n], none in a row of -1
    # A column has one row at most, so that the sum is its number.
    rows = tf.reduce_sum(tf.where(pairs, row_numbers[:, tf.newaxis], 0), axis=-2)
    return MatchResult(tf.maximum(columns, 0), row_matched, rows, tf.reduce_any(pairs, axis=-2))


def _valid_pairs(scores: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None) -> tf.Tensor:
    """The pairs [B, n, m] of valid rows and columns; none in a matrix with an invalid score of such a pair."""
    valid = tf.ones_like(scores, tf.bool)
    if row_mask is not None:
        valid = tf.logical_and(valid, flatten_lists(row_mask)[:, :, tf.newaxis])
    if column_mask is not None:
        valid = tf.logical_and(valid, flatten_lists(column_mask)[:, tf.newaxis, :])
    # Not logical_not(scores < inf): TensorFlow's graph optimizer rewrites it as scores >= inf, which is False for NaN.
    wrong = tf.logical_and(valid, tf.logical_or(tf.math.is_nan(scores), tf.equal(scores, math.inf)))
    return tf.logical_and(valid, tf.logical_not(tf.reduce_any(wrong, axis=[1, 2], keepdims=True)))


def _costs(cost: tf.Tensor, valid: tf.Tensor) -> Costs:
    """The costs of valid pairs. If there are too few valid columns, masked ones replace the missing ones at cost 0."""
    rows, columns = tf.reduce_any(valid, axis=2), tf.reduce_any(valid, axis=1)
    lacking = tf.math.count_nonzero(rows, axis=1) - tf.math.count_nonzero(columns, axis=1)
    masked = tf.logical_not(columns)
    stands_in = tf.logical_and(masked, tf.cumsum(tf.cast(masked, tf.int64), axis=1) <= lacking[:, tf.newaxis])
    stands_in = tf.logical_and(rows[:, :, tf.newaxis], stands_in[:, tf.newaxis, :])
    never = tf.where(stands_in, tf.zeros_like(cost), tf.constant(math.inf, cost.dtype))
    return Costs(tf.where(valid, cost, never), rows, lacking < 0)
