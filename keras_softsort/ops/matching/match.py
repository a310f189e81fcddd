"""Exact matching of targets to predictions at the least total cost."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.matching._masked_assignment import MatchResult, matched_pairs


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
