"""Exact optimal matchings of the rows and columns of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.matching._assignment import MatchResult, assign, matched_pairs


@export(top_level=True)
def linear_assignment(
    scores: Any, *, min_score: Any = None, row_mask: Any = None, column_mask: Any = None
) -> tf.Tensor:
    """Find the assignment of rows to columns with the largest total score: argmax_a sum_i scores[i, a(i)].

    Use it for an exact matching: it has no gradient, and `sinkhorn` has one. Each column is assigned at most once, and
    there are as many pairs as there are rows or columns, whichever are fewer. To minimize a cost, pass its negative. If
    several assignments are best, the result is one of them, and may differ from SciPy's.

    Args:
      scores: `[..., n, m]`, the score of each pair. A pair with -inf is never assigned; there are then as many pairs as
        the others allow.
      min_score: the score from which on a pair is worth making: a number, or a tensor that broadcasts against the
        leading axes. Rows and columns may stay unassigned, and the sum of `score - min_score` over the pairs is
        largest: no pair has a score of `min_score` or less. It is `-cost_limit` of lap.
      row_mask, column_mask: bool `[..., n]` and `[..., m]`, True for valid rows and columns.

    Returns:
      int32 `[..., n]`: the column of each row, -1 for a row that is masked or has none. All rows of a matrix get -1 if
      a valid score is NaN or +inf. An empty matrix gives `[..., 0]`, or -1 for every row. The result is exact, computed
      in float64.

    Raises:
      TypeError: `scores` is not floating-point, `min_score` is not a number, or a mask is not bool.
      ValueError: `scores` has fewer than two axes, or `min_score` or a mask has another shape.

    Cost: at most O(k^2) sequential steps for the shorter side k, each O(s) for the longer side s. A batch takes as many
    steps as its slowest matrix. Under XLA the measured time of square matrices grows more slowly than n^2 for random
    scores, and no faster than about n^2 for hard ones. Each step takes several times longer in a `tf.function` without
    XLA.

    Example:
      >>> ks.ops.linear_assignment([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]]).numpy().tolist()
      [0, 2, 1]

    Source: R. Jonker, A. Volgenant, "A Shortest Augmenting Path Algorithm for Dense and Sparse Linear Assignment
    Problems", Computing 38, 1987; rectangular as in D. F. Crouse, "On Implementing 2D Rectangular Assignment
    Algorithms", IEEE Transactions on Aerospace and Electronic Systems 52, 2016.
    """
    scores = arguments.matrix_tensor("scores", scores)
    limit = _limit("min_score", min_score, scores)
    row_mask = arguments.axis_mask("row_mask", row_mask, scores, axis=-2)
    column_mask = arguments.axis_mask("column_mask", column_mask, scores, axis=-1)
    return assign(scores, row_mask, column_mask, limit)


@export
def match(cost: Any, *, max_cost: Any = None, row_mask: Any = None, column_mask: Any = None) -> MatchResult:
    """Match targets (rows) to predictions (columns) with the smallest total cost.

    Use it for losses of sets that `set_loss` does not cover. Each prediction is matched at most once, and there are as
    many pairs as there are valid targets or valid predictions, whichever are fewer. The result is exact and has no
    gradient. Errors and cost are those of `linear_assignment`.

    Args:
      cost: floating-point `[..., m, n]`, the cost of each pair. A pair with +inf is never matched; there are then as
        many pairs as the others allow.
      max_cost: the cost from which on a pair is not worth making, a number or a tensor that broadcasts against the
        leading axes. The sum of `cost - max_cost` over the pairs is smallest: no pair costs `max_cost` or more.
      row_mask, column_mask: bool `[..., m]` and `[..., n]`, True for valid targets and predictions.

    Returns:
      The named tuple `(columns, row_matched, rows, column_matched)`. `columns`, int32 `[..., m]`, is the prediction of
      each target, and `rows`, int32 `[..., n]`, the target of each prediction; both are 0 without a partner, so that
      they can be used in a gather. `row_matched`, bool `[..., m]`, and `column_matched`, bool `[..., n]`, mark the
      items with a partner.

      A matrix has no pairs if it has no valid rows or columns, or if a valid cost is NaN or -inf. If several matchings
      are best, the result is one of them.

    Example:
      >>> ks.ops.match([[[0.9, 0.1, 0.5], [0.2, 0.3, 0.8]]]).columns.numpy().tolist()  # [batch, target, prediction]
      [[1, 0]]

    Source: N. Carion et al., "End-to-End Object Detection with Transformers", ECCV 2020, section 3.1.
    """
    cost = arguments.matrix_tensor("cost", cost)
    row_mask = arguments.axis_mask("row_mask", row_mask, cost, axis=-2)
    column_mask = arguments.axis_mask("column_mask", column_mask, cost, axis=-1)
    limit = _limit("max_cost", max_cost, cost)
    return matched_pairs(cost, row_mask, column_mask, None if limit is None else -limit)


def _limit(name: str, value: Any, matrices: tf.Tensor) -> tf.Tensor | None:
    """Return a limit as float64, a scalar or a tensor that broadcasts against the leading axes of the matrices."""
    if value is None:
        return None
    if not tf.is_tensor(value) and np.ndim(value) == 0:
        value = arguments.number(name, value)
    limit = tf.cast(arguments.real_tensor(name, value), tf.float64)
    leading = matrices.shape[:-2]
    missing = leading.rank - limit.shape.rank
    if missing < 0 or not all(
        size in (1, None, of) or of is None for size, of in zip(limit.shape, leading[missing:], strict=True)
    ):
        raise ValueError(f"{name} must broadcast against the leading axes {leading}, got shape {limit.shape}")
    return limit
