"""Metrics of graded relevance: DCG, NDCG and the expected reciprocal rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.metrics.ranked_lists import GAINED, K, Measures, by_relevance, has_gain, metric, ranked_lists
from keras_softsort.ops.ranking.dcg import absolute_gains, ideal_dcg, rank_discounts, relative_gains
from keras_softsort.ops.ranking.lists import ListArguments, RankingLists

if TYPE_CHECKING:
    from typing_extensions import Unpack


@export
@metric(has_gain, **GAINED)
def ndcg(
    lists: RankingLists,
    *,
    k: int | None = None,
    gain: str | Callable = "exponential",
    discount: str | Callable = "log2",
    ties: str = "mean",
    **shared: Unpack[ListArguments],
) -> Measures:
    """Compute the normalized discounted cumulative gain of lists: NDCG@k, from 0 to 1.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    `NDCG = DCG / (the DCG of the best order)` with `DCG = sum_{r <= k} D(r) w g`, where g is the gain and w the weight
    of the item at rank r, and D is the discount. See `NDCG` for its use.

    Args:
      scores: floating-point `[..., n]`. An item with the score -inf was not retrieved: it takes no rank, but its gain
        counts in the best order.
      labels: relevance `[..., n]`, numbers of at least 0.
      k: number of ranks that count; None for all.
      gain: `"exponential"`, 2^label - 1, `"linear"`, the label, or a function of the labels.
      discount: `"log2"`, 1 / log2(1 + rank), `"reciprocal"`, 1 / rank, or a function of a tensor of ranks from 1.
      ties: rule for items with equal scores. `"mean"`: the mean over all their orders, as in scikit-learn.
        `"position"`: they keep the order of the list.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers of at least 0 that broadcast against `[..., n]`. They multiply the gains; 0 masks an item.

    Returns:
      `[...]` in the dtype of `scores`, without a gradient. Lists without a gain, and empty lists, give 0. A NaN score,
      or a label that is not finite or below 0, makes its list NaN.

    Raises:
      TypeError: `scores` is not floating-point, or an argument has another type.
      ValueError: `k` is below 1, a name is unknown, shapes do not match, or a weight is negative.

    Cost: O(n log n) time and O(n) memory.

    Example:
      >>> round(float(ks.ops.ndcg([0.3, 0.9, 0.4], [2.0, 0.0, 1.0])), 4)
      0.5869

    Source: K. Jarvelin, J. Kekalainen, "Cumulated Gain-Based Evaluation of IR Techniques", ACM Transactions on
    Information Systems 20, 2002; F. McSherry, M. Najork, "Computing Information Retrieval Performance Measures
    Efficiently in the Presence of Tied Scores", ECIR 2008.
    """
    gains = relative_gains(lists, gain)
    weighted, rank_weights = lists.weighted(gains), rank_discounts(gains, k, discount)
    total = tf.reduce_sum(ranked_lists(lists, ties).at_ranks(weighted) * rank_weights, axis=-1)
    return by_relevance(lists, tf.math.divide_no_nan(total, ideal_dcg(weighted, rank_weights)), gains)


@export
@metric(has_gain, **GAINED)
def dcg(
    lists: RankingLists,
    *,
    k: int | None = None,
    gain: str | Callable = "exponential",
    discount: str | Callable = "log2",
    ties: str = "mean",
    **shared: Unpack[ListArguments],
) -> Measures:
    """Compute the discounted cumulative gain of lists: DCG@k.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    `DCG = sum_{r <= k} D(r) w g / (sum w g / sum g)`, where g is the gain and w the weight of the item at rank r, and D
    is the discount. Equal weights cancel out. See `DCG` for its use.

    Args:
      scores, labels, k, gain, discount, ties, mask: as in `ndcg`.
      weights: numbers of at least 0 that broadcast against `[..., n]`. Items of weight 0 are masked.

    Results for empty lists, errors and cost are those of `ndcg`. Labels that are too large for exponential gains, about
    127 in float32, are an InvalidArgumentError, which is not checked under XLA.

    Example:
      >>> round(float(ks.ops.dcg([0.3, 0.9, 0.4], [2.0, 0.0, 1.0])), 4)
      2.1309

    Source: K. Jarvelin, J. Kekalainen, "Cumulated Gain-Based Evaluation of IR Techniques", ACM Transactions on
    Information Systems 20, 2002.
    """
    gains = absolute_gains(lists, gain)
    ranked_gains = ranked_lists(lists, ties).at_ranks(lists.weighted(gains))
    total = tf.reduce_sum(ranked_gains * rank_discounts(gains, k, discount), axis=-1)
    return by_relevance(lists, total, gains).by_mean_weight()


@export
@metric(has_gain, **K, max_label=arguments.positive_number)
def expected_reciprocal_rank(
    lists: RankingLists, *, k: int | None = None, max_label: float = 4.0, **shared: Unpack[ListArguments]
) -> Measures:
    """Compute the expected reciprocal rank of the item at which a user stops: ERR@k, from 0 to 1.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    A user reads the items in the order of their scores, and stops at one of label y with probability
    `R = (2^y - 1) / 2^max_label`. `ERR = sum_{r <= k} R_r / r prod_{i < r} (1 - R_i)`, where R_r belongs to the item at
    rank r. See `ExpectedReciprocalRank` for its use.

    Args:
      scores: floating-point `[..., n]`. Items with equal scores keep the order of the list. An item with the score -inf
        was not retrieved, and adds nothing.
      labels, k, mask: as in `ndcg`.
      max_label: the largest label that an item can have.
      weights: numbers of at least 0 that broadcast against `[..., n]`. Items of weight 0 are masked.

    Results for empty lists, errors and cost are those of `ndcg`. A label above `max_label` is a ValueError, or an
    InvalidArgumentError in a traced function, which XLA does not check.

    Example:
      >>> round(float(ks.ops.expected_reciprocal_rank([0.3, 0.9, 0.4], [2.0, 0.0, 1.0], max_label=2)), 4)
      0.3125

    Source: O. Chapelle et al., "Expected Reciprocal Rank for Graded Relevance", CIKM 2009.
    """
    labels = lists.only_valid(lists.labels)
    message = f"labels must be at most max_label, {max_label:g}, got"
    labels = arguments.checked(labels, tf.reduce_all(labels <= max_label), message, tf.reduce_max(labels))
    stops = tf.pow(tf.constant(2, labels.dtype), labels - max_label) - 2.0**-max_label  # 2^max_label may overflow
    ranked = ranked_lists(lists, "position")
    ranked_stops = ranked.at_ranks(stops)
    is_reached = tf.math.cumprod(1 - ranked_stops, axis=-1, exclusive=True)
    rank_weights = ranked.counted(k, stops.dtype) / ranked.ranks(stops.dtype)
    return by_relevance(lists, tf.reduce_sum(rank_weights * ranked_stops * is_reached, axis=-1), stops)
