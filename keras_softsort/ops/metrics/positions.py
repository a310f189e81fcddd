"""Metrics of positions and of pairs: the average position of relevant items, and the accuracy of ordered pairs."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops.core.axes import list_size
from keras_softsort.ops.core.order import descending, inverse, masked_last, take
from keras_softsort.ops.core.target import compares_pairs
from keras_softsort.ops.core.ties import tied_ranks
from keras_softsort.ops.metrics._inversions import count_inversions
from keras_softsort.ops.metrics.ranked_lists import (
    Measures,
    MetricOptions,
    can_be_ranked,
    has_gain,
    measured,
    ranked_lists,
)
from keras_softsort.ops.ranking.lists import RankingLists, per_list


@export
def average_relevance_position(
    scores: Any, labels: Any, *, ties: str = "mean", mask: Any = None, weights: Any = None
) -> tf.Tensor:
    """Compute the mean rank of the items of each list, weighted by relevance: ARP. Lower is better.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    `ARP = sum_r r w y / sum_r w y`, where y is the label and w the weight of the item at rank r. See
    `AverageRelevancePosition` for its use.

    Args:
      scores, ties, mask, weights: as in `precision`.
      labels: relevance `[..., n]`, numbers of at least 0.

    Lists without a label above 0, and empty lists, give 0. A label below 0 makes its list NaN. Other results, errors
    and cost are those of `precision`.

    Example:
      >>> float(ks.ops.average_relevance_position([0.3, 0.9, 0.4], [1.0, 0.0, 1.0]))
      2.5
    """
    return measured(average_relevance_position_measures, scores, labels, mask, weights, ties=ties)


@per_list(has_gain)
def average_relevance_position_measures(lists: RankingLists, options: MetricOptions) -> Measures:
    """The average position of each list, which weighs as much as the sum of its labels."""
    ranked = ranked_lists(lists, options.ties)
    relevance = lists.weighted(lists.labels)
    total = tf.reduce_sum(ranked.at_ranks(relevance) * ranked.ranks(relevance.dtype), axis=-1)
    return _of_sums(total, tf.reduce_sum(relevance, axis=-1))


@export
def ordered_pair_accuracy(
    scores: Any, labels: Any, *, ties: str = "mean", mask: Any = None, weights: Any = None
) -> tf.Tensor:
    """Compute the share of pairs of items with different labels that the scores put in the right order.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    `accuracy = sum w_i [s_i > s_j] / sum w_i` over the pairs with label_i > label_j. With two labels it is the area
    under the ROC curve of the list. See `OrderedPairAccuracy` for its use.

    Args:
      scores, mask: as in `precision`.
      labels: numbers `[..., n]`.
      ties: rule for pairs with equal scores. `"mean"`: they count one half. `"position"`: they are wrong.
      weights: numbers of at least 0 that broadcast against `[..., n]`. A pair has the weight of its more relevant item.

    Lists without a pair of different labels give 0. Other results, errors and cost are those of `precision`.

    Example:
      >>> float(ks.ops.ordered_pair_accuracy([0.9, 0.3, 0.4], [2.0, 0.0, 1.0]))
      1.0
    """
    return measured(ordered_pair_accuracy_measures, scores, labels, mask, weights, ties=ties)


@per_list(can_be_ranked)
def ordered_pair_accuracy_measures(lists: RankingLists, options: MetricOptions) -> Measures:
    """The accuracy of the pairs of each list, which weighs as much as its pairs."""
    if compares_pairs(list_size(lists.scores)):
        return _of_sums(*_compared_pairs(lists, ties_count=options.ties == "mean"))
    right = _weight_of_right_pairs(lists, ties_are_right=False)
    if options.ties == "mean":
        right = (right + _weight_of_right_pairs(lists, ties_are_right=True)) / 2
    return _of_sums(right, _weight_of_pairs(lists))


def _of_sums(total: tf.Tensor, weight: tf.Tensor) -> Measures:
    """The mean of each list from a weighted sum and its weight [B]."""
    return Measures(tf.math.divide_no_nan(total, weight), weight, tf.cast(weight > 0, weight.dtype))


def _compared_pairs(lists: RankingLists, ties_count: bool) -> tuple[tf.Tensor, tf.Tensor]:
    """The weights [B] of right pairs and of all pairs, from all pairs of items."""
    dtype, scores = lists.labels.dtype, lists.scores
    counts = lists.labels[:, :, tf.newaxis] > lists.labels[:, tf.newaxis, :]
    counts = counts if lists.mask is None else counts & lists.mask[:, tf.newaxis, :]
    right = tf.cast(counts & (scores[:, :, tf.newaxis] > scores[:, tf.newaxis, :]), dtype)
    if ties_count:
        right += tf.cast(counts & tf.equal(scores[:, :, tf.newaxis], scores[:, tf.newaxis, :]), dtype) / 2
    weights = lists.item_weights()
    right, pairs = (tf.reduce_sum(each, axis=2) for each in (right, tf.cast(counts, dtype)))
    return tf.reduce_sum(weights * right, axis=1), tf.reduce_sum(weights * pairs, axis=1)


def _weight_of_pairs(lists: RankingLists) -> tf.Tensor:
    """The weight [B] of all pairs of valid items with different labels."""
    keys, order = descending(masked_last(lists.labels, lists.mask))
    less_relevant = tf.cast(lists.sizes(), tf.int32)[:, tf.newaxis] - 1 - tied_ranks(keys)[1]
    return tf.reduce_sum(take(lists.item_weights(), order) * tf.cast(less_relevant, keys.dtype), axis=-1)


def _weight_of_right_pairs(lists: RankingLists, ties_are_right: bool) -> tf.Tensor:
    """The weight [B] of the pairs whose more relevant item has the greater score: the later one, from the lowest up."""
    # If pairs of tied items count as right, the more relevant ones come last.
    _, by_label = descending(-lists.labels if ties_are_right else lists.labels)
    _, by_score = descending(take(masked_last(-lists.scores, lists.mask), by_label))
    order = take(by_label, by_score)
    relevance_ranks = inverse(descending(take(lists.labels, order))[1])
    return count_inversions(relevance_ranks, take(lists.item_weights(), order))
