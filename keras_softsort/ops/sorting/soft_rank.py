"""Soft ranks: the rank of each item, with gradients."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.sorting import dispatch
from keras_softsort.ops.sorting.methods import sort_arguments


@export(top_level=True)
def soft_rank(
    scores: Any,
    tau: Any = 1.0,
    *,
    method: str = "neural_sort",
    power: float = 1.0,
    hard: bool = False,
    mask: Any = None,
    direction: str = "DESCENDING",
    scale: str | None = None,
    axis: int = -1,
) -> tf.Tensor:
    """Compute the soft rank of each item, where 1 is the first.

    Use it for losses of ranks. With `"neural_sort"` and `"soft_sort"` the ranks are `P^T (1, ..., n)`, for the soft
    permutation matrix P. The columns of P sum to 1 only as tau goes to 0, so at a high temperature ranks may leave the
    range from 1 to n. The ranks of the other methods stay in this range and sum to n (n + 1) / 2.

    With `"projection"` they are the point of the permutahedron (the convex hull of all orders of 1, ..., n) that is
    nearest to `-scores / tau`. Neighbors in the sorted list that are further apart than tau have exact ranks and no
    gradient, so choose tau well above the distance of neighbors. The others are pooled in blocks, in which a rank is
    the mean rank minus (score - block mean) / tau. With `"projection_kl"` the point is that nearest to
    `exp(-scores / tau)` by Kullback-Leibler divergence. With `"lapsum"` they are `1/2 + sum_j F((s_j - s_i) / tau)`
    over all valid j, with the Laplace distribution function F: the expected ranks with Laplace noise.

    Args:
      scores, power, mask, scale: as in `soft_values`.
      tau: temperature, positive: a number, or a tensor that broadcasts against the leading axes. Its unit is scores
        times list size for `"neural_sort"`, scores to the `power` for `"soft_sort"`, and scores for the others.
      method: `"neural_sort"`, `"soft_sort"`, `"projection"`, `"projection_kl"` or `"lapsum"`.
      hard: whether to return exact ranks, with the gradient of the soft ones. Tied items are ranked in their order.
      direction: `"DESCENDING"` gives the largest score rank 1, `"ASCENDING"` the smallest.
      axis: the axis of the n items in `scores`, `mask` and the ranks.

    Returns:
      `[..., n]` in the dtype of `scores`. Masked items have rank 0 and zero gradient. Tied items have equal ranks,
      unless `hard`. A list with a valid score that is not finite gives NaN. Empty lists give empty results.

    Raises:
      TypeError: `scores` is not floating-point, or `mask` is not bool.
      ValueError: `tau` or `power` is not positive, a name is unknown, `method` takes no `power`, or shapes do not
        match.

    Cost: that of `soft_values` with a matrix. `"lapsum"` and projections take O(n log n) time, projections at some
    temperatures O(n log^2 n), and O(n) memory.

    Example:
      >>> ks.ops.soft_rank([5.0, 1.0, 2.0], 2.0, method="projection", direction="ASCENDING").numpy().tolist()
      [3.0, 1.25, 1.75]

    Source: M. Blondel et al., "Fast Differentiable Sorting and Ranking", ICML 2020, for projections; L. Struski et al.,
    "LapSum - One Method to Differentiate Them All: Ranking, Sorting and Top-k Selection", ICML 2025; otherwise see
    `neural_sort` and `soft_sort`.
    """
    args = sort_arguments(
        scores, tau, "ranks", mask=mask, direction=direction, method=method, power=power, scale=scale, axis=axis
    )
    return dispatch.soft_ranks(args, arguments.boolean("hard", hard))
