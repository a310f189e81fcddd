"""Metrics of relevant items: precision, recall, average precision, the reciprocal rank of the first one, and hits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.core.order import take
from keras_softsort.ops.metrics.ranked_lists import (
    RELEVANT,
    Measures,
    RankedLists,
    by_relevance,
    can_be_ranked,
    metric,
    ranked_lists,
    relevant_items,
    sizes_of_first,
)
from keras_softsort.ops.ranking.dcg import ideal_dcg
from keras_softsort.ops.ranking.lists import ListArguments, RankingLists

if TYPE_CHECKING:
    from typing_extensions import Unpack


@export
@metric(can_be_ranked, **RELEVANT)
def precision(
    lists: RankingLists,
    *,
    k: int | None = None,
    min_label: float = 1.0,
    ties: str = "mean",
    **shared: Unpack[ListArguments],
) -> Measures:
    """Compute the share of relevant items among the first k of each list: Precision@k.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    `precision = (number of relevant items among the first k) / min(k, valid items)`. See `Precision` for its use.

    Args:
      scores: floating-point `[..., n]`. An item with the score -inf was not retrieved: it takes no rank, but it counts
        among the valid and the relevant items of its list.
      k, ties, mask: as in `ndcg`.
      labels: numbers `[..., n]`.
      min_label: the smallest label of a relevant item.
      weights: numbers of at least 0 that broadcast against `[..., n]`. Items of weight 0 are masked.

    Returns:
      `[...]` in the dtype of `scores`, without a gradient. Lists without relevant items, and empty lists, give 0. A NaN
      score or a label that is not finite makes its list NaN.

    Raises:
      TypeError: `scores` is not floating-point, or an argument has another type.
      ValueError: `k` is below 1, `ties` is unknown, shapes do not match, or a weight is negative.

    Cost: O(n log n) time and O(n) memory.

    Example:
      >>> float(ks.ops.precision([0.3, 0.9, 0.4, 0.1], [1.0, 0.0, 1.0, 1.0], k=2))
      0.5
    """
    relevant = relevant_items(lists, min_label)
    values = ranked_lists(lists, ties).sum_of_first(k, relevant) / sizes_of_first(lists, k)
    return by_relevance(lists, values, relevant)


@export
@metric(can_be_ranked, **RELEVANT)
def recall(
    lists: RankingLists,
    *,
    k: int | None = None,
    min_label: float = 1.0,
    ties: str = "mean",
    **shared: Unpack[ListArguments],
) -> Measures:
    """Compute the share of relevant items that are among the first k of each list: Recall@k.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    `recall = (number of relevant items among the first k) / (number of relevant items)`. Results for empty lists,
    errors and cost are those of `precision`. See `Recall` for its use.

    Args:
      scores, labels, k, min_label, ties, mask, weights: as in `precision`.

    Example:
      >>> round(float(ks.ops.recall([0.3, 0.9, 0.4, 0.1], [1.0, 0.0, 1.0, 1.0], k=2)), 4)
      0.3333
    """
    relevant = relevant_items(lists, min_label)
    found = ranked_lists(lists, ties).sum_of_first(k, relevant)
    return by_relevance(lists, tf.math.divide_no_nan(found, tf.reduce_sum(relevant, axis=-1)), relevant)


@export
@metric(can_be_ranked, **RELEVANT, divisor=arguments.choice(*arguments.DIVISORS))
def mean_average_precision(
    lists: RankingLists,
    *,
    k: int | None = None,
    divisor: str = "relevant",
    min_label: float = 1.0,
    ties: str = "mean",
    **shared: Unpack[ListArguments],
) -> Measures:
    """Compute the average precision of each list, whose mean over lists is MAP@k.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    `average precision = sum_{r <= k} w_r y_r P(r) / D`, where y is 1 for relevant items and else 0, w are the weights,
    P(r) is the precision among the first r ranks, and D is the divisor. Empty lists, errors and cost are as in
    `precision`. See `MeanAveragePrecision` for its use.

    Args:
      scores, labels, k, min_label, ties, mask, weights: as in `precision`.
      divisor: which relevant items D counts. `"relevant"`: all of them, also those after rank k, as in trec_eval and
        TF-Ranking. `"at_most_k"`: at most k of them, those of the largest weights, so that k relevant items at the
        first k ranks give 1, as in LightGBM, XGBoost and RecBole.

    Example:
      >>> round(float(ks.ops.mean_average_precision([0.3, 0.9, 0.4], [1.0, 0.0, 1.0])), 4)
      0.5833
    """
    relevant, ranked = relevant_items(lists, min_label), ranked_lists(lists, ties)
    weighted, counted = lists.weighted(relevant), ranked.counted(k, relevant.dtype)
    precisions = counted * _relevant_until(ranked, relevant) / ranked.ranks(relevant.dtype)
    total = tf.reduce_sum(ranked.at_ranks(weighted) * precisions, axis=-1)
    most = ideal_dcg(weighted, counted) if divisor == "at_most_k" else tf.reduce_sum(weighted, axis=-1)
    return by_relevance(lists, tf.math.divide_no_nan(total, most), relevant)


def _relevant_until(ranked: RankedLists, relevant: tf.Tensor) -> tf.Tensor:
    """The mean number of relevant items up to each rank [B, n], if the item there is relevant.

    Of g tied items, r of them relevant, i come before a relevant one: on average `i (r - 1) / (g - 1)` relevant ones.
    """
    share, ties = ranked.at_ranks(relevant), ranked.ties
    found = 1 + tf.cumsum(share, axis=-1, exclusive=True)
    if ties is None:
        return found
    tied = ties.sizes(share.dtype)
    tied_before = tf.cast(ranked.own_ranks(), share.dtype) - tf.cast(ties.first, share.dtype)
    return take(found, ties.first) + tf.math.divide_no_nan(tied_before * (share * tied - 1), tied - 1)


@export
@metric(can_be_ranked, **RELEVANT)
def hits(
    lists: RankingLists,
    *,
    k: int | None = None,
    min_label: float = 1.0,
    ties: str = "mean",
    **shared: Unpack[ListArguments],
) -> Measures:
    """Compute whether a relevant item is among the first k of each list: Hits@k, 0 or 1.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    It is a probability if scores are tied. The rest is as in `precision`. See `Hits` for its use.

    Args:
      scores, labels, k, min_label, ties, mask, weights: as in `precision`.

    Example:
      >>> float(ks.ops.hits([0.3, 0.9, 0.4], [1.0, 0.0, 0.0], k=2))
      0.0
    """
    relevant, ranked = relevant_items(lists, min_label), ranked_lists(lists, ties)
    return by_relevance(lists, _of_first(ranked, relevant, ranked.counted(k, relevant.dtype)), relevant)


@export
@metric(can_be_ranked, **RELEVANT)
def mrr(
    lists: RankingLists,
    *,
    k: int | None = None,
    min_label: float = 1.0,
    ties: str = "mean",
    **shared: Unpack[ListArguments],
) -> Measures:
    """Compute the reciprocal rank of the first relevant item of each list, whose mean over lists is MRR@k.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    `reciprocal rank = 1 / r` with r the rank of the first relevant item, or 0 if r is greater than k. Results for empty
    lists, errors and cost are those of `precision`. See `MRR` for its use.

    Args:
      scores, labels, k, min_label, ties, mask, weights: as in `precision`.

    Example:
      >>> float(ks.ops.mrr([0.3, 0.9, 0.4], [1.0, 0.0, 1.0]))
      0.5

    Source: E. Voorhees, "The TREC-8 Question Answering Track Report", TREC 1999.
    """
    relevant, ranked = relevant_items(lists, min_label), ranked_lists(lists, ties)
    values = ranked.counted(k, relevant.dtype) / ranked.ranks(relevant.dtype)
    return by_relevance(lists, _of_first(ranked, relevant, values), relevant)


def _of_first(ranked: RankedLists, relevant: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """The mean [B] of the value of the rank of the first relevant item, over all orders of tied items.

    The `values` [n] of ranks do not grow. Of g tied items, r of them relevant, the one after i irrelevant ones is
    irrelevant with probability `(g - i - r) / (g - i)`.
    """
    share, ties = ranked.at_ranks(relevant), ranked.ties
    if ties is None:
        return tf.reduce_max(share * values, axis=-1)
    left = tf.cast(ties.last, share.dtype) - tf.cast(ranked.own_ranks(), share.dtype) + 1
    is_irrelevant = tf.nn.relu(left - share * ties.sizes(share.dtype)) / left
    none_until = tf.math.cumprod(is_irrelevant, axis=-1)
    is_first = tf.math.cumprod(is_irrelevant, axis=-1, exclusive=True) - none_until
    return tf.reduce_sum(is_first * values, axis=-1)
