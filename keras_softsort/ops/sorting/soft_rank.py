"""Soft ranks: the rank of each item, with gradients."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.sorting import _dispatch
from keras_softsort.ops.sorting._methods import sort_arguments


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
) -> tf.Tensor:
    """Compute the soft rank of each item, where 1 is the first.

    With `"neural_sort"` and `"soft_sort"` the ranks are `P^T (1, ..., n)`, for the soft permutation matrix P, and are
    not normalized. The rows of P sum to 1, but its columns do only as tau goes to 0, so at a high temperature ranks may
    leave the range from 1 to n. The ranks of the other methods stay in this range and sum to n (n + 1) / 2.

    With `"projection"` they are the point of the permutahedron (the convex hull of all orders of 1, ..., n) that is
    nearest to `-scores / tau`. Neighbors in the sorted list that are further apart than tau have exact ranks. The
    others are pooled in blocks. Within a block, a rank is the mean rank of the block minus (score - block mean) / tau.
    With `"projection_kl"` the nearest point is that by Kullback-Leibler divergence to `exp(-scores / tau)`. The ranks
    are those of `soft_rank(scores, regularization_strength=tau, regularization="l2"` or `"kl")` of fast-soft-sort and
    torchsort, which rank in ascending order by default. Items that are not pooled have no gradient, so choose tau well
    above the distance of neighbors.

    With `"lapsum"` they are `1/2 + sum_j F((s_j - s_i) / tau)` over all valid j, where F is the distribution function
    of the Laplace distribution. It is the expected rank with Laplace noise. Every rank depends on all scores.

    Args:
      scores: floating-point `[..., n]`.
      tau: temperature, in the units of `method`: scores times list size for `"neural_sort"`, scores to the `power` for
        `"soft_sort"`, scores for the others. A positive number, or a tensor or variable that is a scalar or broadcasts
        against the leading axes (a temperature per list).
      method: `"neural_sort"`, `"soft_sort"`, `"projection"`, `"projection_kl"` or `"lapsum"`.
      power: exponent of the distance of scores for `"soft_sort"`, positive.
      hard: whether to return exact ranks, with the gradient of the soft ones. Tied items are ranked in their order.
      mask: bool `[..., n]`, True for valid items.
      direction: `"DESCENDING"` gives the largest score rank 1, `"ASCENDING"` the smallest.
      scale: `"std"` divides the scores of each list by their standard deviation, so that one tau fits all scales.

    Returns:
      `[..., n]` in the dtype of `scores`. Masked items have rank 0 and zero gradient. Tied items have equal ranks,
      unless `hard`. A list with a valid score that is not finite gives NaN. Empty lists give empty results.

    Raises:
      TypeError: `scores` is not floating-point, or `mask` is not bool.
      ValueError: `tau` or `power` is not positive, `power` is not 1 with a method that has none, `mask` has another
        shape, `direction` or `scale` is unknown, or `method` has no ranks.

    Cost: with a soft permutation matrix that of `soft_values`. `"lapsum"` and projections take O(n log n) time,
    projections at some temperatures O(n log^2 n). Both take O(n) memory.

    Example:

    >>> import keras_softsort as ks
    >>> ks.ops.soft_rank([2.0, 5.0, 3.0], tau=0.01).numpy().tolist()
    [3.0, 1.0, 2.0]
    >>> ks.ops.soft_rank([2.0, 2.0, 3.0], tau=0.01).numpy().tolist()
    [2.5, 2.5, 1.0]

    >>> ks.ops.soft_rank([5.0, 1.0, 2.0], 2.0, method="projection", direction="ASCENDING").numpy().tolist()
    [3.0, 1.25, 1.75]

    Source: that of `neural_sort` and `soft_sort`. Projections: M. Blondel, O. Teboul, Q. Berthet, J. Djolonga, "Fast
    Differentiable Sorting and Ranking", ICML 2020, https://arxiv.org/abs/2002.08871. LapSum: L. Struski, M. Bednarczyk,
    I. Podolak, J. Tabor, "LapSum - One Method to Differentiate Them All: Ranking, Sorting and Top-k Selection", ICML
    2025, https://arxiv.org/abs/2503.06242.
    """
    args = sort_arguments(
        scores, tau, mask=mask, direction=direction, method=method, power=power, capability="ranks", scale=scale
    )
    return _dispatch.soft_ranks(args, arguments.boolean("hard", hard))
