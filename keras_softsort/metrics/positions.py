"""The average position of relevant items, and the accuracy of ordered pairs, as metrics."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.metrics._ranking import RankingMetric
from keras_softsort.ops.metrics.positions import average_relevance_position_measures, ordered_pair_accuracy_measures


@export
class AverageRelevancePosition(RankingMetric):
    """The mean rank of items, weighted by relevance: ARP. Lower is better.

    `ARP = sum r w y / sum w y` over all items of all lists, where y is the label, w the weight and r the rank of an
    item in its list.

    Args:
      ties: rule for items with equal scores. `"position"`: they keep the order of the list. `"mean"`: the mean over
        all their orders.
      **kwargs: `lists`, `padding`, `name` and `dtype`, as in `NDCG`.

    Call arguments, padding, NaN, errors and cost are those of `NDCG`. A list without a label above 0 does not count.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> metric = ks.AverageRelevancePosition()
    >>> _ = metric.update_state(tf.constant([[1.0, 0.0, 1.0]]), tf.constant([[0.3, 0.9, 0.4]]))
    >>> round(float(metric.result()), 4)
    2.5
    """

    default_name = "average_relevance_position"
    _measures = staticmethod(average_relevance_position_measures)

    def __init__(self, *, ties: str = "position", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)


@export
class OrderedPairAccuracy(RankingMetric):
    """The share of pairs of items with different labels that the scores put in the right order.

    `accuracy = sum w_i [s_i > s_j] / sum w_i` over the pairs of all lists with label_i > label_j, where s are the
    scores and w the weights.

    Args:
      ties: rule for pairs with equal scores. `"position"`: they are wrong, as in TF-Ranking. `"mean"`: they count one
        half, as in the area under the ROC curve.
      **kwargs: `lists`, `padding`, `name` and `dtype`, as in `NDCG`.

    Call arguments, padding, NaN, errors and cost are those of `NDCG`, but labels may be below 0 if they do not mark
    padding. A list without a pair of different labels does not count.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> metric = ks.OrderedPairAccuracy()
    >>> _ = metric.update_state(tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[0.3, 0.9, 0.1]]))
    >>> round(float(metric.result()), 4)
    0.3333
    """

    default_name = "ordered_pair_accuracy"
    _measures = staticmethod(ordered_pair_accuracy_measures)

    def __init__(self, *, ties: str = "position", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
