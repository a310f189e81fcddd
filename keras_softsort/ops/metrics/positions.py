"""Metrics of positions and of pairs: the average position of relevant items, and the accuracy of ordered pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.metrics._pairs import concordant_pairs, untied_pairs
from keras_softsort.ops.metrics.ranked_lists import TIES, Measures, can_be_ranked, has_gain, metric, ranked_lists
from keras_softsort.ops.ranking.lists import SHARED, ListArguments, RankingLists
from keras_softsort.ops.ranking.operators import Held

if TYPE_CHECKING:
    from typing_extensions import Unpack


@export
@metric(has_gain, **TIES)
def average_relevance_position(lists: RankingLists, *, ties: str = "mean", **shared: Unpack[ListArguments]) -> Measures:
    """Compute the mean rank of the items of each list, weighted by relevance: ARP. Lower is better.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    `ARP = sum_r r w y / sum_r w y`, where y is the label and w the weight of the item at rank r. See
    `AverageRelevancePosition` for its use.

    Args:
      scores: floating-point `[..., n]`. An item with the score -inf was not retrieved, and is left out.
      ties, mask, weights: as in `precision`.
      labels: relevance `[..., n]`, numbers of at least 0.

    Lists without a label above 0, and empty lists, give 0. A label below 0 makes its list NaN. Other results, errors
    and cost are those of `precision`.

    Example:
      >>> float(ks.ops.average_relevance_position([0.3, 0.9, 0.4], [1.0, 0.0, 1.0]))
      2.5
    """
    ranked = ranked_lists(lists, ties)
    relevance = ranked.at_ranks(lists.weighted(lists.labels))
    total = tf.reduce_sum(relevance * ranked.ranks(relevance.dtype), axis=-1)
    return _of_sums(total, tf.reduce_sum(relevance, axis=-1))


@export
def ordered_pair_accuracy(
    scores: Any,
    labels: Any,
    *,
    ties: str = "mean",
    no_pairs: float = 0.0,
    keep_zero_weights: bool = False,
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the share of pairs of items with different labels that the scores put in the right order.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    `accuracy = sum w_i [s_i > s_j] / sum w_i` over the pairs with label_i > label_j. With two labels it is the area
    under the ROC curve of the list. See `OrderedPairAccuracy` for its use.

    Args:
      scores: floating-point `[..., n]`, which may be infinite.
      labels: numbers `[..., n]`.
      ties: rule for pairs with equal scores. `"mean"`: they count one half. `"position"`: they are wrong.
      no_pairs: the result of a list without a pair of different labels, a number or NaN. With NaN, `per_segment` tells
        such lists from those whose pairs are all wrong.
      keep_zero_weights: whether an item of weight 0 stays the less relevant item of its pairs. By default it is masked.
      mask: as in `precision`.
      weights: numbers of at least 0 that broadcast against `[..., n]`. A pair has the weight of its more relevant item.

    Empty lists, and those whose pairs all have the weight 0, are lists without pairs. Other results, errors and cost
    are those of `precision`.

    Example:
      >>> float(ks.ops.ordered_pair_accuracy([0.9, 0.3, 0.4], [2.0, 0.0, 1.0]))
      1.0
    """
    args, options = pair_accuracy.arguments(
        scores, labels, ties=ties, keep_zero_weights=keep_zero_weights, mask=mask, weights=weights
    )
    values, _, has_pairs = pair_accuracy.measures(*args, **options)
    is_nan = isinstance(no_pairs, float) and math.isnan(no_pairs)
    otherwise = tf.constant(no_pairs if is_nan else arguments.number("no_pairs", no_pairs), values.dtype)
    return tf.where(tf.equal(has_pairs, 0), otherwise, values)


@metric(
    can_be_ranked,
    **TIES,
    average=arguments.choice("lists", "pairs"),
    keep_zero_weights=Held(arguments.boolean),
    shared={"keep_zero_weights": False, **SHARED},
)
def pair_accuracy(
    lists: RankingLists, *, ties: str = "mean", average: str = "pairs", **shared: Unpack[ListArguments]
) -> Measures:
    """The accuracy of the pairs of each list.

    With `average="pairs"` a list has the total weight of its pairs, and with "lists" the mean weight of its items.
    """
    scores, labels, weights = lists.scores, lists.labels, lists.item_weights()
    right, pairs = concordant_pairs(scores, labels, lists.mask, weights), untied_pairs(labels, lists.mask, weights)
    if ties == "mean":
        wrong = concordant_pairs(-scores, labels, lists.mask, weights)
        right = (right + pairs - wrong) / 2  # the tied ones are neither right nor wrong
    accuracy = _of_sums(right, pairs)
    if average == "pairs":
        return accuracy
    return accuracy._replace(weights=tf.where(pairs > 0, lists.mean_weights(), 0))


def _of_sums(total: tf.Tensor, weight: tf.Tensor) -> Measures:
    """The mean of each list from a weighted sum and its weight [B]."""
    return Measures(tf.math.divide_no_nan(total, weight), weight, tf.cast(weight > 0, weight.dtype))
