"""Exact optimal matching of rows to columns."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort.ops._core import validation
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.matching._masked_assignment import assign


def linear_assignment(scores: Any, *, row_mask: Any = None, column_mask: Any = None) -> tf.Tensor:
    """The column of each row in the assignment of the greatest total score: argmax_a sum_i scores[i, a(i)].

    No column is given twice, and as many pairs are made as there are rows or columns, whichever are fewer. The result
    is exact, computed in float64 whatever the dtype, and has no gradient. Of several best assignments it is one; which
    one is not specified, and may differ from SciPy's.

    Args:
      scores: `[..., n, m]`, the score of each pair. -inf is a pair that is never made.
      row_mask: `[..., n]` bool, True = keep. The scores of a masked row, NaN included, have no effect.
      column_mask: `[..., m]` bool, likewise.

    Returns:
      int32 `[..., n]`: the column of each row; -1 for a row that is masked, or left over where rows outnumber columns.
      A matrix gives -1 for every row if all its full assignments hold a pair of score -inf, or if an unmasked score
      is NaN or +inf; other matrices are unaffected. An empty matrix gives `[..., 0]`, or -1 for every row.

    Raises:
      TypeError: `scores` is not floating-point, or a mask not bool.
      ValueError: `scores` has fewer than two axes, or a mask another shape than its axes of `scores`.

    Cost: with k the shorter and s the longer side, at most O(k^2) sequential steps, each O(s) for every matrix, as long
    as the slowest matrix of the batch has work. On square matrices the measured time grows with about n^1.5 on random
    scores and with about n^2.5 on hard ones. A tf.function
    without XLA pays several times more for each step.

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
    scores = validation.matrix_tensor("scores", scores)
    row_mask = validation.axis_mask("row_mask", row_mask, scores, axis=-2)
    column_mask = validation.axis_mask("column_mask", column_mask, scores, axis=-1)
    return _assign(scores, row_mask, column_mask)


_assign = traced_if_eager(assign)
