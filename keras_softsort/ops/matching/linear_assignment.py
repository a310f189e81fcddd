"""Exact optimal matchings of the rows and columns of matrices."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.matching._assignment import assign
from keras_softsort.ops.matching._pairs import MatchResult, matched_pairs


@export(top_level=True)
def linear_assignment(scores: Any, *, row_mask: Any = None, column_mask: Any = None) -> tf.Tensor:
    """Find the assignment of rows to columns with the largest total score: argmax_a sum_i scores[i, a(i)].

    Use it for an exact matching: it has no gradient, and `sinkhorn` has one. Each column is assigned at most once, and
    there are as many pairs as there are rows or columns, whichever are fewer. To minimize a cost, pass its negative. If
    several assignments are best, the result is one of them, and may differ from SciPy's.

    Args:
      scores: `[..., n, m]`, the score of each pair. A pair with -inf is never assigned.
      row_mask, column_mask: bool `[..., n]` and `[..., m]`, True for valid rows and columns.

    Returns:
      int32 `[..., n]`: the column of each row. Masked rows get -1, and so do the remaining rows if there are more rows
      than columns. All rows of a matrix get -1 if every full assignment contains a pair with -inf, or if a valid score
      is NaN or +inf. An empty matrix gives `[..., 0]`, or -1 for every row. The result is exact, computed in float64.

    Raises:
      TypeError: `scores` is not floating-point, or a mask is not bool.
      ValueError: `scores` has fewer than two axes, or a mask has another shape.

    Cost: at most O(k^2) sequential steps for the shorter side k, each O(s) for the longer side s. A batch takes as many
    steps as its slowest matrix. Under XLA the measured time of square matrices grows as n^0.9 to n^1.7 for random
    scores, and as n^2.1 for hard ones. Each step takes several times longer in a `tf.function` without XLA.

    Example:
      >>> ks.ops.linear_assignment([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]]).numpy().tolist()
      [0, 2, 1]

    Source: R. Jonker, A. Volgenant, "A Shortest Augmenting Path Algorithm for Dense and Sparse Linear Assignment
    Problems", Computing 38, 1987; rectangular as in D. F. Crouse, "On Implementing 2D Rectangular Assignment
    Algorithms", IEEE Transactions on Aerospace and Electronic Systems 52, 2016.
    """
    scores = arguments.matrix_tensor("scores", scores)
    row_mask = arguments.axis_mask("row_mask", row_mask, scores, axis=-2)
    column_mask = arguments.axis_mask("column_mask", column_mask, scores, axis=-1)
    return assign(scores, row_mask, column_mask)


@export
def match(cost: Any, *, row_mask: Any = None, column_mask: Any = None) -> MatchResult:
    """Match targets (rows) to predictions (columns) with the smallest total cost.

    Use it for losses of sets that `set_loss` does not cover. Each prediction is matched at most once, and there are as
    many pairs as there are valid targets or valid predictions, whichever are fewer. The result is exact and has no
    gradient. Errors and cost are those of `linear_assignment`.

    Args:
      cost: floating-point `[..., m, n]`, the cost of each pair. A pair with +inf is never matched.
      row_mask, column_mask: bool `[..., m]` and `[..., n]`, True for valid targets and predictions.

    Returns:
      The named tuple `(columns, row_matched, rows, column_matched)`. `columns`, int32 `[..., m]`, is the prediction of
      each target, and `rows`, int32 `[..., n]`, the target of each prediction; both are 0 without a partner, so that
      they can be used in a gather. `row_matched`, bool `[..., m]`, and `column_matched`, bool `[..., n]`, mark the
      items with a partner.

      A matrix has no pairs if it has no valid rows or columns, if a valid cost is NaN or -inf, or if every full
      matching contains a pair with +inf. If several matchings are best, the result is one of them.

    Example:
      >>> ks.ops.match([[[0.9, 0.1, 0.5], [0.2, 0.3, 0.8]]]).columns.numpy().tolist()  # [batch, target, prediction]
      [[1, 0]]

    Source: N. Carion et al., "End-to-End Object Detection with Transformers", ECCV 2020, section 3.1.
    """
    cost = arguments.matrix_tensor("cost", cost)
    row_mask = arguments.axis_mask("row_mask", row_mask, cost, axis=-2)
    column_mask = arguments.axis_mask("column_mask", column_mask, cost, axis=-1)
    return matched_pairs(cost, row_mask, column_mask)
