"""Soft ranks: the rank of each item, with gradients."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.sorting import _operators
from keras_softsort.ops.sorting._arguments import sort_arguments


def soft_rank(
    scores: Any,
    tau: Any = 1.0,
    *,
    method: str = "neural_sort",
    power: float = 1.0,
    hard: bool = False,
    mask: Any = None,
    direction: str = "DESCENDING",
) -> tf.Tensor:
    """Soft ranks, 1 = first.

    With `"neural_sort"` and `"soft_sort"`: `P^T (1, ..., n)`, not renormalised. The columns of P sum to 1 only as tau
    goes to 0 (its rows always do), so at a high temperature ranks may leave the range 1 to n. The ranks of the other
    methods stay in it and sum to n (n + 1) / 2.

    With `"projection"`: the point of the permutahedron (the convex hull of all orders of 1, ..., n) that is nearest to
    `-scores / tau`. Neighbours further apart than tau have exact ranks; the ranks of a run that is pooled are the mean
    of its places less what each score is above the run's mean, in units of tau. With `"projection_kl"`: the nearest by
    Kullback-Leibler divergence to `exp(-scores / tau)`: a run's ranks are shares of the sum of its places. They are
    those of `soft_rank(scores, regularization_strength=tau, regularization="l2"` or `"kl")` of fast-soft-sort and
    torchsort, whose default, and torchsort's only direction, is `"ASCENDING"`. Where nothing is pooled the gradient is
    0: choose tau well above the distance of neighbours.

    With `"lapsum"`: `1/2 + sum_j F((s_j - s_i) / tau)` over all kept j, F being the distribution function of Laplace's
    distribution: the ranks of scores with Laplace noise, in the mean. Every rank depends on all scores.

    Args:
      scores: `[..., n]` floating-point.
      tau: temperature of `method`: a positive number, or a tensor or variable that is a scalar or broadcasts
        against the leading axes (a temperature per list). For `"neural_sort"` and `"soft_sort"`
        see there; in units of the scores for the others.
      method: a method with ranks: those described above.
      power: positive number, the exponent of the distance, for `"soft_sort"`.
      hard: give the exact ranks (ties in stable order) with the gradient of the soft ones.
      mask: bool `[..., n]`, True = keep.
      direction: with `"DESCENDING"` rank 1 is the largest score, with `"ASCENDING"` the smallest.

    Returns:
      `[..., n]` in the dtype of `scores`. Masked items have rank 0, which no kept item has, and zero gradient. Tied
      items have equal ranks, unless `hard`. A list with a score that is not finite gives NaN. Empty lists give empty
      results.

    Raises:
      TypeError: `scores` are not floating-point, `mask` is not bool.
      ValueError: `tau` or `power` <= 0, a `power` other than 1 with a method that has none, `mask` of another shape,
        unknown `direction`, a `method` without ranks.

    Cost: with a soft permutation that of `soft_values`. Projections: O(n log^2 n) time whatever the scores,
    `"lapsum"`: O(n log n), both in O(n) memory.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> ks.ops.soft_rank(tf.constant([2.0, 5.0, 3.0]), tau=0.01).numpy().tolist()
    [3.0, 1.0, 2.0]
    >>> ks.ops.soft_rank(tf.constant([2.0, 2.0, 3.0]), tau=0.01).numpy().tolist()
    [2.5, 2.5, 1.0]

    >>> ks.ops.soft_rank(tf.constant([5.0, 1.0, 2.0]), 2.0, method="projection", direction="ASCENDING").numpy().tolist()
    [3.0, 1.25, 1.75]

    Source: as for `neural_sort` and `soft_sort`. Projections: M. Blondel, O. Teboul, Q. Berthet, J. Djolonga, "Fast
    Differentiable Sorting and Ranking", ICML 2020, https://arxiv.org/abs/2002.08871. LapSum: L. Struski, M. Bednarczyk,
    I. Podolak, J. Tabor, "LapSum - One Method to Differentiate Them All: Ranking, Sorting and Top-k Selection", ICML
    2025, https://arxiv.org/abs/2503.06242.
    """
    args = sort_arguments(scores, tau, mask=mask, direction=direction, method=method, power=power, capability="ranks")
    return _operators.soft_ranks(args, arguments.boolean("hard", hard))
