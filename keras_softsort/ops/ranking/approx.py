"""Losses of smooth ranks: ApproxNDCG, with noise GumbelApproxNDCG, ApproxMRR, and their mean squared error ADR-MSE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.core.order import mean_ranks
from keras_softsort.ops.ranking._items import item_mean
from keras_softsort.ops.ranking._noise import NOISE_CHECKS, Noise, mean_over_samples
from keras_softsort.ops.ranking._sigmoid_ranks import sigmoid_ranks
from keras_softsort.ops.ranking.dcg import DISCOUNTS, NDCG_CHECKS, discounts, ndcg_parts
from keras_softsort.ops.ranking.lists import RankingLists, TauArguments, finite, finite_with_gain
from keras_softsort.ops.ranking.operators import list_operator

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Soft ranks need a discount with a formula.
SOFT_CHECKS: dict[str, Any] = {**NDCG_CHECKS, "discount": arguments.choice(*DISCOUNTS)}


@export
@list_operator(finite_with_gain, tau=0.1, **SOFT_CHECKS)
def approx_ndcg_loss(
    lists: RankingLists,
    *,
    k: int | None = None,
    gain: str = "exponential",
    discount: str = "log2",
    normalization: str = "ideal",
    **shared: Unpack[TauArguments],
) -> tf.Tensor:
    """Compute minus the NDCG with smooth ranks (ApproxNDCG), from -1 (the best order) to 0.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    With scores s, labels l and weights w (1 by default): `-sum_i w_i (2^l_i - 1) / log2(1 + rank_i) / IDCG` with
    `rank_i = 1 + sum_{j != i} sigmoid((s_j - s_i) / tau)`. IDCG is the DCG of the best order, with weights 1. See
    `ApproxNDCGLoss` for its use.

    Args:
      scores: floating-point `[..., n]`.
      labels: relevance `[..., n]`, numbers of at least 0.
      tau: temperature in units of the scores, positive: a number, or a tensor that broadcasts against the leading axes.
        As it goes to 0 the result becomes minus the NDCG.
      k: number of ranks that count; None for all. A smooth rank between k and k + 1 counts `k + 1 - rank_i`.
      gain: gain of a label l: `"exponential"`, 2^l - 1, or `"linear"`, l.
      discount: discount of rank r: `"log2"`, 1 / log2(1 + r), or `"reciprocal"`, 1 / r.
      normalization: `"ideal"` divides by IDCG; `"none"` gives minus the DCG.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`. They multiply the gains in the DCG, not in the ideal one.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Lists without a label above 0, and empty lists, give
      0. A score or label that is not finite, or a label below 0, makes its list NaN. Tied scores have equal smooth
      ranks, the mean of the ranks that they share.

    Raises:
      TypeError: `scores` is not floating-point, `k` is not an integer, or `mask` is not bool.
      ValueError: `tau` is not positive, `k` is below 1, a name is unknown, or shapes do not match.

    Cost: O(n r) time per list of float32 scores, if n >= 250 and r <= 11 or n >= 500 and r <= 75. r is the widest span
    of the scores of a list in the batch, in temperatures. Otherwise O(n^2) time, as on a TPU, and on a GPU under XLA,
    for lists of a known size of up to 2,048.

    Example:
      >>> round(float(ks.ops.approx_ndcg_loss([0.3, 0.9, 0.4], [0, 2, 1])), 4)
      -0.9823

    Source: T. Qin et al., "A General Approximation Framework for Direct Optimization of Information Retrieval
    Measures", Information Retrieval 13, 2010; S. Bruch et al., "Revisiting Approximate Metric Optimization in the Age
    of Deep Neural Networks", SIGIR 2019.
    """
    gains, _ = ndcg_parts(lists, k, gain, discount, normalization)
    ranks = sigmoid_ranks(lists.scores, lists.tau, lists.mask)
    terms = gains * discounts(ranks, discount)
    if k is not None:
        terms *= tf.clip_by_value(k + 1 - ranks, 0, 1)
    return -tf.reduce_sum(terms, axis=-1)


@export
@list_operator(finite_with_gain, tau=0.1, **SOFT_CHECKS, **NOISE_CHECKS)
def gumbel_approx_ndcg_loss(
    lists: RankingLists,
    *,
    seed: Any,
    k: int | None = None,
    gain: str = "exponential",
    discount: str = "log2",
    normalization: str = "ideal",
    num_samples: int = 8,
    noise_scale: float = 1.0,
    **shared: Unpack[TauArguments],
) -> tf.Tensor:
    """Compute the mean of ApproxNDCG over samples of the scores with Gumbel noise.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    A sample is `s_i + noise_scale G_i` with independent standard Gumbel noise G. With `noise_scale=1` its order has the
    Plackett-Luce distribution of the scores. Results, errors and the cost of a sample are those of `approx_ndcg_loss`.
    See `GumbelApproxNDCGLoss` for its use.

    Args:
      scores, labels, tau, k, gain, discount, normalization, mask, weights: as in `approx_ndcg_loss`.
      seed: two integers, the stateless seed of the noise.
      num_samples: number of samples per list, at least 1.
      noise_scale: factor of the Gumbel noise, at least 0.

    Example:
      >>> round(float(ks.ops.gumbel_approx_ndcg_loss([9.0, -9.0, 0.0], [2.0, 0.0, 1.0], seed=[1, 2])), 2)
      -1.0

    Source: S. Bruch et al., "A Stochastic Treatment of Learning to Rank Scoring Functions", WSDM 2020.
    """
    noise, formula = Noise(num_samples, noise_scale, seed), approx_ndcg_loss.formula
    return mean_over_samples(lists, noise, formula, k=k, gain=gain, discount=discount, normalization=normalization)


@export
@list_operator(finite_with_gain, tau=0.1)
def approx_mrr_loss(lists: RankingLists, **shared: Unpack[TauArguments]) -> tf.Tensor:
    """Compute minus the mean reciprocal of the smooth ranks of relevant items: ApproxMRR.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    With scores s, labels y and weights w (1 by default): `-sum_i w_i y_i / rank_i / sum_i y_i` with the ranks of
    `approx_ndcg_loss`, from -1 (one relevant item, ranked first) to 0. Results, errors, cost and source are as there.
    See `ApproxMRRLoss` for its use.

    Args:
      scores, labels, tau, mask: as in `approx_ndcg_loss`. As tau goes to 0 the ranks become exact.
      weights: numbers that broadcast against `[..., n]`. They multiply the labels in the first sum only.

    Example:
      >>> round(float(ks.ops.approx_mrr_loss([0.3, 0.9, 0.4], [0.0, 0.0, 1.0])), 4)
      -0.442
    """
    ranks = sigmoid_ranks(lists.scores, lists.tau, lists.mask)
    total = tf.reduce_sum(lists.weighted(lists.labels) / ranks, axis=-1)
    return -tf.math.divide_no_nan(total, tf.reduce_sum(lists.labels, axis=-1))


@export
@list_operator(finite, tau=1.0, discount=arguments.optional(arguments.choice(*DISCOUNTS)))
def approx_rank_mse_loss(
    lists: RankingLists, *, discount: str | None = "log2", **shared: Unpack[TauArguments]
) -> tf.Tensor:
    """Compute the discounted mean squared error of smooth ranks: ADR-MSE.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    With ranks r of the labels, 1 for the largest, and weights w (1 by default): `mean(w_i D(r_i) (r_i - rank_i)^2)`
    with `rank_i = 1 + sum_{j != i} sigmoid((s_j - s_i) / tau)`. Tied labels have the mean of their ranks. See
    `ApproxRankMSELoss` for its use.

    Args:
      scores, tau, mask: as in `approx_ndcg_loss`. As tau goes to 0 the ranks become exact.
      labels: `[..., n]` numbers; only their order counts.
      discount: D: `"log2"`, 1 / log2(1 + r), `"reciprocal"`, 1 / r, or None, 1.
      weights: numbers that broadcast against `[..., n]`.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Empty lists give 0. A score or label that is not
      finite makes its list NaN. The cost is that of `approx_ndcg_loss`.

    Raises:
      TypeError: `scores` is not floating-point, or an argument has another type.
      ValueError: `tau` is not positive, `discount` is unknown, or shapes do not match.

    Example:
      >>> round(float(ks.ops.approx_rank_mse_loss([0.3, 0.9, 0.4], [2.0, 0.0, 1.0])), 4)
      0.7268

    Source: F. Schlatt et al., "Rank-DistiLLM: Closing the Effectiveness Gap Between Cross-Encoders and LLMs for Passage
    Re-Ranking", ECIR 2025.
    """
    ranks = tf.maximum(mean_ranks(lists.labels, lists.mask), 1)  # 0 where masked
    errors = tf.math.squared_difference(ranks, sigmoid_ranks(lists.scores, lists.tau, lists.mask))
    weighted = errors if discount is None else errors * discounts(ranks, discount)
    return item_mean(lists, weighted, "list")
