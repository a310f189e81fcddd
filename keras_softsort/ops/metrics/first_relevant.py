"""Metrics of the first relevant item: hits and the reciprocal rank."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops.metrics._ranked_lists import (
    Measures,
    MetricOptions,
    RankedLists,
    by_relevance,
    can_be_ranked,
    metric_arguments,
    metric_options,
    relevant_items,
)
from keras_softsort.ops.ranking._lists import RankingLists, per_list


@export
def hits(
    scores: Any,
    labels: Any,
    *,
    k: int | None = None,
    min_label: float = 1.0,
    ties: str = "position",
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute whether a relevant item is among the first k of each list: Hits@k, 0 or 1.

    Args:
      scores: `[..., n]` floating-point, which may be infinite.
      labels: `[..., n]` numbers. Items with a label of at least `min_label` are relevant.
      k: number of ranks that count, None for all.
      min_label: the smallest label of a relevant item.
      ties: rule for items with equal scores, `"position"` or `"mean"`, as in `precision`.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers of at least 0 that broadcast against `[..., n]`. Items of weight 0 are left out.

    Results for masked and empty lists, errors and cost are those of `precision`. With `ties="mean"` the result is a
    probability.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> float(ks.ops.hits(tf.constant([0.3, 0.9, 0.4]), [1.0, 0.0, 0.0], k=2))
    0.0
    """
    options = metric_options(k=k, min_label=min_label, ties=ties)
    return hits_measures(metric_arguments(scores, labels, mask, weights), options).values


@export
def mrr(
    scores: Any,
    labels: Any,
    *,
    k: int | None = None,
    min_label: float = 1.0,
    ties: str = "position",
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the reciprocal rank of the first relevant item of each list, whose mean over lists is MRR@k.

    `reciprocal rank = 1 / r` with r the rank of the first relevant item, or 0 if r is greater than k.

    Args:
      scores: `[..., n]` floating-point, which may be infinite.
      labels: `[..., n]` numbers. Items with a label of at least `min_label` are relevant.
      k: number of ranks that count, None for all.
      min_label: the smallest label of a relevant item.
      ties: rule for items with equal scores, `"position"` or `"mean"`, as in `precision`.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers of at least 0 that broadcast against `[..., n]`. Items of weight 0 are left out.

    Results for masked and empty lists, errors and cost are those of `precision`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> float(ks.ops.mrr(tf.constant([0.3, 0.9, 0.4]), [1.0, 0.0, 1.0]))
    0.5

    Source: E. Voorhees, "The TREC-8 Question Answering Track Report", TREC 1999.
    """
    options = metric_options(k=k, min_label=min_label, ties=ties)
    return mrr_measures(metric_arguments(scores, labels, mask, weights), options).values


@per_list(can_be_ranked)
def hits_measures(lists: RankingLists, options: MetricOptions) -> Measures:
    """The hits of each list."""
    relevant, ranked = relevant_items(lists, options)
    is_first = _probability_of_first(ranked, relevant)
    return by_relevance(lists, tf.linalg.matvec(is_first, ranked.counted(options.k, relevant.dtype)), relevant)


@per_list(can_be_ranked)
def mrr_measures(lists: RankingLists, options: MetricOptions) -> Measures:
    """The reciprocal rank of the first relevant item of each list."""
    relevant, ranked = relevant_items(lists, options)
    reciprocals = ranked.counted(options.k, relevant.dtype) / ranked.ranks(relevant.dtype)
    return by_relevance(lists, tf.linalg.matvec(_probability_of_first(ranked, relevant), reciprocals), relevant)


def _probability_of_first(ranked: RankedLists, relevant: tf.Tensor) -> tf.Tensor:
    """The probability [B, n] that a rank has the first relevant item, over all orders of tied items.

    Of g tied items, r of them relevant, the one after i irrelevant ones is irrelevant with probability
    `(g - i - r) / (g - i)`.
    """
    left = tf.cast(ranked.last - ranked.own_ranks() + 1, relevant.dtype)
    tied = tf.cast(ranked.last - ranked.first + 1, relevant.dtype)
    is_irrelevant = tf.nn.relu(left - ranked.at_ranks(relevant) * tied) / left
    none_until = tf.math.cumprod(is_irrelevant, axis=-1)
    return tf.math.cumprod(is_irrelevant, axis=-1, exclusive=True) - none_until
