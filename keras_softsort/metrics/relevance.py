"""Reciprocal rank, average precision, precision, recall, hits, average position and ordered pairs as metrics."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.metrics._base import RankingMetric, RelevanceMetric
from keras_softsort.ops.metrics.positions import average_relevance_position_measures, ordered_pair_accuracy_measures
from keras_softsort.ops.metrics.relevance import (
    hits_measures,
    mean_average_precision_measures,
    mrr_measures,
    precision_measures,
    recall_measures,
)


@export
class Precision(RelevanceMetric):
    """The share of relevant items among the first k, averaged over lists: Precision@k.

    `precision = (number of relevant items among the first k) / min(k, number of valid items)`.

    Args:
      k: number of ranks that count, None for all.
      min_label: the smallest label of a relevant item.
      ties: rule for items with equal scores. `"position"`: they keep the order of the list. `"mean"`: the mean over
        all their orders.
      no_relevant: the value of a list without relevant items. `"zero"`: 0, as in TF-Ranking, Keras-RS and scikit-learn.
        `"one"`: 1, as in LightGBM. `"skip"`: the list does not count.
      **kwargs: `lists`, `padding`, `name` and `dtype`. `lists` and `padding` are those of the losses, see
        `losses.ListLoss`. A model with several metrics of one class needs names for them.

    Call arguments:
      y_true: labels `[batch, n]` or `[batch, n, 1]`, dense or ragged. By default a label below 0 marks padding.
      y_pred: scores `[batch, n]` or `[batch, n, 1]`, dense or ragged.
      sample_weight: a number, `[batch]` or `[batch, 1]` (one weight per list), or `[batch, n]` (one per item). A list
        weighs as much as its relevant items do on average, or without relevant items as much as all its items. Items of
        weight 0 are left out.

    With `lists="batch"` all shapes lose their first axis: labels and scores are `[batch]` or `[batch, 1]`. The result
    is NaN after a list with a NaN score or label. Empty lists do not count.

    Raises:
      TypeError: `y_pred` is not floating-point, or an argument has another type.
      ValueError: an argument is out of range, a name is unknown, shapes do not match, a weight is negative, or a list
        can hold only one item.

    Cost: O(n log n) time and O(n) memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> metric = ks.Precision(k=2)
    >>> _ = metric.update_state(tf.constant([[1.0, 0.0, 1.0, 1.0]]), tf.constant([[0.3, 0.9, 0.4, 0.1]]))
    >>> round(float(metric.result()), 4)
    0.5
    """

    _measures = staticmethod(precision_measures)


@export
class Recall(RelevanceMetric):
    """The share of relevant items that are among the first k, averaged over lists: Recall@k.

    `recall = (number of relevant items among the first k) / (number of relevant items)`.

    Arguments, call arguments, padding, ties, NaN, errors and cost are those of `Precision`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> metric = ks.Recall(k=2)
    >>> _ = metric.update_state(tf.constant([[1.0, 0.0, 1.0, 1.0]]), tf.constant([[0.3, 0.9, 0.4, 0.1]]))
    >>> round(float(metric.result()), 4)
    0.3333
    """

    _measures = staticmethod(recall_measures)


@export
class Hits(RelevanceMetric):
    """The share of lists with a relevant item among the first k: Hits@k.

    Arguments, call arguments, padding, ties, NaN, errors and cost are those of `Precision`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> metric = ks.Hits(k=2)
    >>> labels = tf.constant([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    >>> _ = metric.update_state(labels, tf.constant([[0.3, 0.9, 0.4], [0.5, 0.9, 0.4]]))
    >>> round(float(metric.result()), 4)
    0.5
    """

    _measures = staticmethod(hits_measures)


@export
class MRR(RelevanceMetric):
    """The mean reciprocal rank of the first relevant item: MRR@k.

    `reciprocal rank = 1 / r` with r the rank of the first relevant item, or 0 if r is greater than k.

    Arguments, call arguments, padding, ties, NaN, errors and cost are those of `Precision`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> metric = ks.MRR()
    >>> _ = metric.update_state(tf.constant([[1.0, 0.0, 1.0]]), tf.constant([[0.3, 0.9, 0.4]]))
    >>> round(float(metric.result()), 4)
    0.5

    Source: E. Voorhees, "The TREC-8 Question Answering Track Report", TREC 1999.
    """

    _measures = staticmethod(mrr_measures)


@export
class MeanAveragePrecision(RelevanceMetric):
    """The mean of the average precision of lists: MAP@k.

    `average precision = sum_{r <= k} w_r y_r P(r) / sum_i w_i y_i`, where y is 1 for relevant items and else 0, w are
    the weights and P(r) is the precision among the first r ranks. The divisor counts all relevant items, also those
    after rank k.

    Arguments, call arguments, padding, ties, NaN, errors and cost are those of `Precision`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> metric = ks.MeanAveragePrecision()
    >>> _ = metric.update_state(tf.constant([[1.0, 0.0, 1.0]]), tf.constant([[0.3, 0.9, 0.4]]))
    >>> round(float(metric.result()), 4)
    0.5833
    """

    _measures = staticmethod(mean_average_precision_measures)


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

    _measures = staticmethod(ordered_pair_accuracy_measures)

    def __init__(self, *, ties: str = "position", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
