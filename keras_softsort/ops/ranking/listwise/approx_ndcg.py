"""Minus the NDCG with smooth ranks: ApproxNDCG."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort.ops.ranking._dcg import NDCGOptions, discounts, ndcg_options
from keras_softsort.ops.ranking._lists import RankingLists, finite_with_gain, per_list, ranking_arguments
from keras_softsort.ops.ranking._sigmoid_ranks import sigmoid_ranks


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
    """Minus the NDCG with approximate ranks in place of ranks: from -1 (the best order) to 0.

    With scores s, labels l and weights w (1 by default): `-sum_i w_i (2^l_i - 1) / log2(1 + rank_i) / IDCG` with
    `rank_i = 1 + sum_{j != i} sigmoid((s_j - s_i) / tau)`. IDCG is the DCG of the best order, its ranks exact and its
    weights 1.

    Args:
      scores: `[..., n]` floating-point.
      labels: `[..., n]` numbers of at least 0: relevance.
      tau: temperature, positive: a number, or a tensor that broadcasts against the leading axes. In units of the
        scores. As it goes to 0 the result becomes minus the NDCG.
      k: number of ranks that count; None for all. An item whose approximate rank lies between k and k + 1 counts in
        proportion, `k + 1 - rank_i`.
      gain: of a label l: `"exponential"`, 2^l - 1, or `"linear"`, l.
      discount: of rank r: `"log2"`, 1 / log2(1 + r), or `"reciprocal"`, 1 / r.
      normalization: `"ideal"`, divide by IDCG, or `"none"`, which gives minus the DCG.
      mask: bool `[..., n]`, True = keep.
      weights: numbers that broadcast against `[..., n]`; they multiply the gains in the DCG and not in the ideal one.

    Returns:
      `[...]` in the dtype of `scores`. Lists without a label above 0, and empty ones, give 0. A score or label that is
      not finite, or a label below 0, makes its list's result NaN.

    Raises:
      TypeError: `scores` are not floating-point, `k` is not an integer, `mask` is not bool.
      ValueError: `tau` <= 0, `k` < 1, an unknown name, shapes that do not match.

    Cost: O(n^2) time; pairs are not kept for the gradient.

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
    gains = options.gains(lists.labels, lists.mask)
    ranks = sigmoid_ranks(lists.scores, lists.tau, lists.mask)
    counted = lists.weights * gains * discounts(ranks, str(options.discount))
    if options.k is not None:
        counted *= tf.clip_by_value(options.k + 1 - ranks, 0, 1)
    return options.losses(tf.reduce_sum(counted, axis=-1), gains, options.rank_weights(lists.scores))
