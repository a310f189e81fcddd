"""The pairs of an exact matching, for `match` and losses of sets."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops.core.tracing import traced_if_eager
from keras_softsort.ops.matching._assignment import assign


@export
class MatchResult(NamedTuple):
    """The pairs of a matching of rows (targets) and columns (predictions)."""

    columns: tf.Tensor  # int32 [..., m]: the column of each row, 0 for a row without one
    row_matched: tf.Tensor  # bool [..., m]: whether a row has a column
    rows: tf.Tensor  # int32 [..., n]: the row of each column, 0 for a column without one
    column_matched: tf.Tensor  # bool [..., n]: whether a column has a row


@traced_if_eager
def matched_pairs(
    cost: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None, min_score: tf.Tensor | None = None
) -> MatchResult:
    """Compute `match` for checked arguments, with the negative of the largest cost."""
    columns = assign(-cost, row_mask, column_mask, min_score)
    row_matched = columns >= 0
    row_numbers, column_numbers = tf.range(tf.shape(cost)[-2]), tf.range(tf.shape(cost)[-1])
    pairs = tf.equal(columns[..., tf.newaxis], column_numbers)  # [..., m, n], none in a row of -1
    # A column has one row at most, so the sum is the number of that row.
    rows = tf.reduce_sum(tf.where(pairs, row_numbers[:, tf.newaxis], 0), axis=-2)
    return MatchResult(tf.maximum(columns, 0), row_matched, rows, tf.reduce_any(pairs, axis=-2))
