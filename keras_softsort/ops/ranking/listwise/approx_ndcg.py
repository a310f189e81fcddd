"""Minus the NDCG with smooth ranks: ApproxNDCG."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._dcg import NDCGOptions, ndcg_options
from keras_softsort.ops.ranking._lists import RankingLists, finite_with_gain, per_list, ranking_arguments
from keras_softsort.ops.ranking._smooth_ndcg import approx_ndcg_losses


@export
def approx_ndcg(
    scores: Any,
    labels: Any,
    *,
    tau: Any = 0.1,
    k: int | None = None,
    gain: str = "exponential",
    discount: str = "log2",
    normalization: str = "ideal",
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute minus the NDCG with smooth ranks (ApproxNDCG), from -1 (the best order) to 0.

    With scores s, labels l and weights w (1 by default): `-sum_i w_i (2^l_i - 1) / log2(1 + rank_i) / IDCG` with
    `rank_i = 1 + sum_{j != i} sigmoid((s_j - s_i) / tau)`. IDCG is the DCG of the best order, with exact ranks and
    weights 1.

    Args:
      scores: floating-point `[..., n]`.
      labels: relevance `[..., n]`, numbers of at least 0.
      tau: temperature, positive, in units of the scores: a number, or a tensor that broadcasts against the leading
        axes. As it goes to 0 the result becomes minus the NDCG.
      k: number of ranks that count; None for all. An item whose smooth rank lies between k and k + 1 counts in
        proportion, `k + 1 - rank_i`.
      gain: gain of a label l: `"exponential"`, 2^l - 1, or `"linear"`, l.
      discount: discount of rank r: `"log2"`, 1 / log2(1 + r), or `"reciprocal"`, 1 / r.
      normalization: `"ideal"` divides by IDCG; `"none"` gives minus the DCG.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`. They multiply the gains in the DCG, not in the ideal one.

    Returns:
      `[...]` in the dtype of `scores`. Lists without a label above 0, and empty lists, give 0. A score or label that is
      not finite, or a label below 0, makes the result of its list NaN.

    Raises:
      TypeError: `scores` is not floating-point, `k` is not an integer, or `mask` is not bool.
      ValueError: `tau` is not positive, `k` is below 1, a name is unknown, or shapes do not match.

    Cost: O(n r) time per list of float32 scores, if n >= 100 and r <= 11 or n >= 500 and r <= 75. r is the widest span
    of the scores of a list in the batch, in temperatures. Otherwise O(n^2) time.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> round(float(ks.ops.approx_ndcg(tf.constant([0.3, 0.9, 0.4]), [0, 2, 1])), 4)
    -0.9823

    Source: T. Qin, T.-Y. Liu, H. Li, "A General Approximation Framework for Direct Optimization of Information
    Retrieval Measures", Information Retrieval 13, 2010.
    """
    options = ndcg_options(k, gain, discount, normalization, ranks_are_soft=True)
    return _losses(ranking_arguments(scores, labels, mask, weights, tau=tau), options)


@per_list(finite_with_gain)
def _losses(lists: RankingLists, options: NDCGOptions) -> tf.Tensor:
    return approx_ndcg_losses(lists, options)
