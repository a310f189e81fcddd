"""Exact optimal matchings of the rows and columns of a batch of masked matrices."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops._core.lists import flatten_lists
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.matching._augmenting_paths import solve_assignment
from keras_softsort.ops.matching._initial_pairs import GROUPS, Costs


@export(top_level=True)
def linear_assignment(scores: Any, *, row_mask: Any = None, column_mask: Any = None) -> tf.Tensor:
    """Find the assignment of rows to columns with the largest total score: argmax_a sum_i scores[i, a(i)].

    Each column is assigned at most once, and there are as many pairs as there are rows or columns, whichever are fewer.
    To minimize a cost, pass its negative. The result is exact, computed in float64, and has no gradient; `sinkhorn` has
    one. If several assignments are best, the result is one of them, and may differ from SciPy's.

    Args:
      scores: `[..., n, m]`, the score of each pair. A pair with -inf is never assigned.
      row_mask: bool `[..., n]`, True for valid rows. Masked rows, even with NaN, change nothing.
      column_mask: bool `[..., m]`, True for valid columns.

    Returns:
      int32 `[..., n]`: the column of each row. Masked rows get -1, and so do the remaining rows if there are more rows
      than columns. All rows of a matrix get -1 if every full assignment contains a pair with -inf, or if a valid score
      is NaN or +inf; other matrices are not affected. An empty matrix gives `[..., 0]`, or -1 for every row.

    Raises:
      TypeError: `scores` is not floating-point, or a mask is not bool.
      ValueError: `scores` has fewer than two axes, or a mask has another shape.

    Cost: at most O(k^2) sequential steps for the shorter side k, each O(s) for the longer side s. A batch takes as many
    steps as its slowest matrix. On square matrices the measured time grows about as n^1.8 for random scores, and as
    n^3 for hard ones. Each step takes several times longer in a `tf.function` without XLA.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> scores = tf.constant([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])
    >>> ks.ops.linear_assignment(scores).numpy().tolist()
    [0, 2, 1]
    >>> ks.ops.linear_assignment(scores, column_mask=[True, True, False]).numpy().tolist()
    [0, -1, 1]

    Source: R. Jonker, A. Volgenant, "A Shortest Augmenting Path Algorithm for Dense and Sparse Linear Assignment
    Problems", Computing 38, 1987; rectangular as in D. F. Crouse, "On Implementing 2D Rectangular Assignment
    Algorithms", IEEE Transactions on Aerospace and Electronic Systems 52, 2016.
    """
    scores = arguments.matrix_tensor("scores", scores)
    row_mask = arguments.axis_mask("row_mask", row_mask, scores, axis=-2)
    column_mask = arguments.axis_mask("column_mask", column_mask, scores, axis=-1)
    return _assign(scores, row_mask, column_mask)


@export
class MatchResult(NamedTuple):
    """The pairs of a matching of rows (targets) and columns (predictions)."""

    columns: tf.Tensor  # int32 [..., m]: the column of each row, 0 for a row without one
    row_matched: tf.Tensor  # bool [..., m]: whether a row has a column
    rows: tf.Tensor  # int32 [..., n]: the row of each column, 0 for a column without one
    column_matched: tf.Tensor  # bool [..., n]: whether a column has a row


@export
def match(cost: Any, *, row_mask: Any = None, column_mask: Any = None) -> MatchResult:
    """Match targets (rows) to predictions (columns) with the smallest total cost.

    Each prediction is matched at most once, and there are as many pairs as there are valid targets or valid
    predictions, whichever are fewer. The result is exact and has no gradient. Use it in your own training step. For
    losses that are sums over matched and unmatched items, use `losses.SetLoss`.

    Args:
      cost: floating-point `[..., m, n]`, the cost of each pair. A pair with +inf is never matched.
      row_mask: bool `[..., m]`, True for valid targets. Masked rows, even with NaN, change nothing.
      column_mask: bool `[..., n]`, True for valid predictions.

    Returns:
      A named tuple of tensors. Indices of items without a partner are 0, so that they can be used in a gather; the
      masks mark the items with a partner.

      - `columns`: int32 `[..., m]`, the prediction of each target.
      - `row_matched`: bool `[..., m]`. False for masked targets, and for the remaining ones if there are more targets
        than predictions.
      - `rows`: int32 `[..., n]`, the target of each prediction.
      - `column_matched`: bool `[..., n]`. False for masked predictions and for those without a target.

      A matrix has no pairs if it has no valid rows or columns, if a valid cost is NaN or -inf, or if every full
      matching contains a pair with +inf; other matrices are not affected. If several matchings are best, the result is
      one of them.

    Raises:
      TypeError: `cost` is not floating-point, or a mask is not bool.
      ValueError: `cost` has fewer than two axes, or a mask has another shape than its axes of `cost`.

    Cost: see `linear_assignment`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> cost = tf.constant([[[0.9, 0.1, 0.5], [0.2, 0.3, 0.8]]])  # [batch, target, prediction]
    >>> matching = ks.ops.match(cost)
    >>> matching.columns.numpy().tolist(), matching.column_matched.numpy().tolist()
    ([[1, 0]], [[True, True, False]])
    >>> features = tf.constant([[[10.0], [20.0], [30.0]]])
    >>> tf.gather(features, matching.columns, batch_dims=1).numpy().tolist()
    [[[20.0], [10.0]]]

    Source: N. Carion, F. Massa, G. Synnaeve, N. Usunier, A. Kirillov, S. Zagoruyko, "End-to-End Object Detection with
    Transformers", ECCV 2020, section 3.1; the algorithm is that of `linear_assignment`.
    """
    cost = arguments.matrix_tensor("cost", cost)
    row_mask = arguments.axis_mask("row_mask", row_mask, cost, axis=-2)
    column_mask = arguments.axis_mask("column_mask", column_mask, cost, axis=-1)
    return matched_pairs(cost, row_mask, column_mask)


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
    pairs, complete = solve_assignment(_costs(tf.pad(cost, more), tf.pad(tf.transpose(valid, axes), more)))
    lacking = tf.maximum(size[1] - tf.shape(pairs.column_of)[1], 0)
    columns = tf.pad(pairs.column_of, [[0, 0], [0, lacking]])[:, : size[1]]
    columns = tf.where(is_tall, pairs.row_of[:, : size[1]], columns)
    # Not those of masked columns that replace missing ones.
    right = tf.gather(valid[:, : size[1]], tf.clip_by_value(columns, 0, tf.shape(valid)[2] - 1), batch_dims=2)
    right = tf.logical_and(tf.logical_and(right, columns >= 0), complete[:, tf.newaxis])
    return tf.ensure_shape(tf.reshape(tf.where(right, columns, -1), shape), static_shape)


_assign = traced_if_eager(assign)


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
