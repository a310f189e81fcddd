"""Metrics of diversity, for items that cover topics: alpha-DCG and intent-aware precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort._internal.not_a_number import or_nan
from keras_softsort.ops.core.axes import flatten_lists
from keras_softsort.ops.core.order import take
from keras_softsort.ops.metrics.ranked_lists import (
    DISCOUNTED,
    RELEVANT,
    Measures,
    Options,
    by_relevance,
    can_be_ranked,
    metric,
    metric_arguments,
    ranked_lists,
    sizes_of_first,
)
from keras_softsort.ops.ranking.dcg import rank_discounts
from keras_softsort.ops.ranking.lists import ListArguments, RankingArguments, RankingLists

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from keras_softsort.ops.metrics.ranked_lists import Metric

    Formula = Callable[Concatenate[RankingLists, tf.Tensor, Options], Measures]


def item_labels(topics: tf.Tensor) -> tf.Tensor:
    """The largest label of each item: `[..., n]`; NaN if one is NaN."""
    has_nan = tf.reduce_any(tf.math.is_nan(topics), axis=-1)
    return or_nan(tf.reduce_max(topics, axis=-1), has_nan)


def topic_arguments(scores: Any, labels: Any, mask: Any, weights: Any) -> tuple[RankingArguments, tf.Tensor]:
    """Check the arguments of metrics with labels `[..., n, topics]`: those of the items, and the topics [B, n, t]."""
    scores = arguments.list_tensor("scores", scores)
    topics = tf.cast(arguments.real_tensor("labels", labels), compute_dtype(scores.dtype))
    if topics.shape.rank != scores.shape.rank + 1:
        raise ValueError(f"labels must have shape [..., n, topics] with scores {scores.shape}, got {topics.shape}")
    return metric_arguments(scores, item_labels(topics), mask, weights), flatten_lists(topics, 2)


def topic_metric(**rules: Any) -> Callable[[Formula[Options]], Metric[Options]]:
    """Decorate a formula of lists and their topics `[B, n, topics]` as `metric` does."""
    decorate: Any = metric(can_be_ranked, read=topic_arguments, **rules)
    return decorate


@export
@topic_metric(**DISCOUNTED, alpha=arguments.fraction)
def alpha_dcg(
    lists: RankingLists,
    topics: tf.Tensor,
    *,
    k: int | None = None,
    alpha: float = 0.5,
    discount: str | Callable = "log2",
    **shared: Unpack[ListArguments],
) -> Measures:
    """Compute the discounted cumulative gain of lists whose items cover topics, a measure of diversity.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    `alpha-DCG = sum_{r <= k} D(r) w sum_t y_t (1 - alpha)^(c_t) / v`. y_t is the label of the item at rank r for topic
    t, w its weight, c_t the sum of the labels for this topic before rank r, and v the mean weight of the items with a
    topic. The more often a topic has come before, the less it adds. See `AlphaDCG` for its use.

    Args:
      scores: `[..., n]` floating-point. Items with equal scores keep the order of the list. An item with the score -inf
        was not retrieved, and adds nothing.
      labels: `[..., n, topics]`, 1 if the item covers the topic, else 0. Labels below 0 count as 0.
      k, discount, mask: as in `ndcg`.
      alpha: how much of its gain a topic loses each time it is covered, at least 0 and below 1.
      weights: numbers of at least 0 that broadcast against `[..., n]`. Items of weight 0 are masked.

    Returns:
      `[...]` in the dtype of `scores`, without a gradient. Lists without a covered topic, and empty lists, give 0. A
      NaN score or a label that is not finite makes its list NaN.

    Raises:
      TypeError: `scores` is not floating-point, or an argument has another type.
      ValueError: `k` or `alpha` is out of range, `discount` is unknown, shapes do not match, or a weight is negative.

    Cost: O(n log n + n topics) time and O(n topics) memory.

    Example:
      >>> round(float(ks.ops.alpha_dcg([3.0, 2.0, 1.0], [[1, 0], [1, 0], [0, 1]])), 4)
      1.8155

    Source: C. Clarke et al., "Novelty and Diversity in Information Retrieval Evaluation", SIGIR 2008.
    """
    ranked = ranked_lists(lists, "position")
    order, covered = ranked.order, ranked.of_retrieved(lists.only_valid(tf.nn.relu(topics)))
    sorted_topics = take(covered, order)
    before = tf.cumsum(sorted_topics, axis=1, exclusive=True)
    gains = tf.reduce_sum(sorted_topics * tf.pow(tf.constant(1 - alpha, before.dtype), before), axis=-1)
    gains = gains if lists.weights is None else gains * take(lists.weights, order)
    total = tf.reduce_sum(gains * rank_discounts(gains, k, discount), axis=-1)
    return by_relevance(lists, total, tf.cast(lists.labels > 0, gains.dtype)).by_mean_weight()


@export
@topic_metric(**RELEVANT)
def precision_ia(
    lists: RankingLists,
    topics: tf.Tensor,
    *,
    k: int | None = None,
    min_label: float = 1.0,
    ties: str = "mean",
    **shared: Unpack[ListArguments],
) -> Measures:
    """Compute the intent-aware precision of lists whose items cover topics: Precision-IA@k, a measure of diversity.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    It is the mean of `precision` over the topics that some item of the list covers, with its results for empty lists
    and its errors. O(n log n + n topics) time and O(n topics) memory. See `PrecisionIA` for its use.

    Args:
      scores, k, ties, mask, weights: as in `precision`.
      labels: `[..., n, topics]` numbers. Items with a label of at least `min_label` cover the topic.
      min_label: the smallest label of an item that covers the topic.

    Example:
      >>> float(ks.ops.precision_ia([3.0, 2.0, 1.0], [[1, 0], [1, 0], [0, 1]], k=2))
      0.5

    Source: C. Clarke et al., "Overview of the TREC 2009 Web Track", TREC 2009.
    """
    covers = lists.only_valid(topics >= min_label)
    topics_of_item = tf.reduce_sum(tf.cast(covers, lists.scores.dtype), axis=-1)
    topics_of_list = tf.reduce_sum(tf.cast(tf.reduce_any(covers, axis=1), lists.scores.dtype), axis=-1)
    found = ranked_lists(lists, ties).sum_of_first(k, topics_of_item)
    values = tf.math.divide_no_nan(found, topics_of_list * sizes_of_first(lists, k))
    return by_relevance(lists, values, tf.cast(topics_of_item > 0, values.dtype))
