"""Softly sorted values: a soft permutation applied, to the scores or to tensors carried along."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.sorting import dispatch
from keras_softsort.ops.sorting.methods import sort_arguments


@export(top_level=True)
def soft_values(
    scores: Any,
    tau: Any = 1.0,
    *,
    method: str = "neural_sort",
    power: float = 1.0,
    values: Any = None,
    top_k: int | None = None,
    hard: bool = False,
    mask: Any = None,
    direction: str = "DESCENDING",
    scale: str | None = None,
    axis: int = -1,
) -> tf.Tensor:
    """Compute softly sorted scores, `P @ scores`, or other values in the same order, `P @ values`.

    Use it to train on sorted values. P is the soft permutation matrix of `method`, see `neural_sort` and `soft_sort`.
    Each result is a weighted mean of the values around its rank.

    Projections have no P, so `values` must be None. With `"projection"` the result is the point of the permutahedron of
    the scores (the convex hull of all their orders) that is nearest to `(n, ..., 1) / tau`. Neighbors in the sorted
    list that are closer than 1 / tau keep their values. The others are pooled in blocks, in which a value is the block
    mean minus (rank - block center) / tau. With `"projection_kl"` the means are log-sum-exp, which gives the logarithm
    of a projection by Kullback-Leibler divergence; ascending values are then not the reverse of descending ones.

    Args:
      scores, mask: as in `neural_sort`.
      tau: temperature, positive: a number, or a tensor that broadcasts against the leading axes. Unit: scores times
        list size for `"neural_sort"`, scores to the `power` for `"soft_sort"`, **one over** scores for projections.
      method: `"neural_sort"`, `"soft_sort"`, `"projection"` or `"projection_kl"`.
      power: exponent of the distance of scores for `"soft_sort"`, positive.
      values: `[..., n]` or `[..., n, d]`, in the dtype of `scores`; None sorts the scores themselves.
      top_k: number of first values to compute; None computes all.
      hard: whether to return exactly sorted values, with the gradient of the soft ones. Tied items keep their order.
      direction: order of the scores, `"DESCENDING"` or `"ASCENDING"`.
      scale: `"std"` divides the scores of each list by their standard deviation, so that one tau fits all scales.
        Values keep their scale.
      axis: the axis of the n items in `scores`, `mask`, `values` and the result. d stays the last axis.

    Returns:
      The shape of `values`, or of `scores`, with `top_k` in place of n if it is given. Masked values are never read.
      The ranks after the valid items get 0 and zero gradient. Tied items share their ranks evenly. A list with a valid
      score that is not finite gives NaN. Empty lists give empty results.

    Raises:
      TypeError: `scores` or `values` is not floating-point, they differ in dtype, or `mask` is not bool.
      ValueError: `tau` or `power` is not positive, `top_k` is greater than the list size, a name is unknown, shapes do
        not match, or `method` has no sorted values or does not take `power` or `values`.

    Cost: O(n^2 d) time and O(n^2) memory on short lists. Long lists take O(n) memory, and O(n log n + n d) time with
    SoftSort or O(n w d) with NeuralSort, where about w = `sqrt(30 tau / gap)` neighbors matter for scores that lie
    evenly `gap` apart. Projections take O(n log n) time, at worst O(n log^2 n), and O(n) memory.

    Example:
      >>> prices = [[20.0, 1.0], [50.0, 2.0], [30.0, 3.0]]
      >>> ks.ops.soft_values([2.0, 5.0, 3.0], tau=0.01, values=prices).numpy().tolist()
      [[50.0, 2.0], [30.0, 3.0], [20.0, 1.0]]

    Source: that of `neural_sort` and `soft_sort`, and for projections that of `soft_rank`.
    """
    scores = arguments.list_tensor("scores", scores)
    args = sort_arguments(
        scores,
        tau,
        mask=mask,
        direction=direction,
        method=method,
        power=power,
        capability="values" if values is None else "permutation",
        scale=scale,
        top_k=top_k,
        axis=axis,
    )
    hard = arguments.boolean("hard", hard)
    if values is None:
        return dispatch.sorted_scores(args, top_k, hard)
    values = arguments.floating_tensor("values", values)
    if values.dtype != scores.dtype:
        raise TypeError(f"values must have the dtype of scores, {scores.dtype.name}, got {values.dtype.name}")
    extra = values.shape.rank - scores.shape.rank
    lists = values.shape if extra == 0 else values.shape[:-1]
    if extra not in (0, 1) or not lists.is_compatible_with(scores.shape):
        raise ValueError(
            f"values must have shape [..., n] or [..., n, d] with scores [..., n], got {values.shape} and "
            f"{scores.shape}"
        )
    values = args.with_list_axis_last(values)
    if extra == 0:
        return dispatch.multiply(args, values[..., tf.newaxis], top_k, hard)[..., 0]
    return dispatch.multiply(args, values, top_k, hard)
