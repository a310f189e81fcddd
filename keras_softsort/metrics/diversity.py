"""Metrics of diversity, for items that cover topics: alpha-DCG and intent-aware precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._targets.layout import groups_and_labels
from keras_softsort.metrics._base import RankingMetric, RelevanceMetric
from keras_softsort.ops.metrics.diversity import alpha_dcg_measures, item_labels, precision_ia_measures


class TopicMetric(RankingMetric):
    """Base class of metrics of scores whose labels have a last axis of topics."""

    @tf.autograph.experimental.do_not_convert
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Add a batch. The label of an item, which may mark padding, is the largest of its labels."""
        groups, labels = groups_and_labels(y_true) if self.lists == "groups" else (None, y_true)
        topics = arguments.real_tensor("y_true", labels)
        axes = "[batch, n, topics]" if self.lists == "rows" else "[batch, topics]"
        if topics.shape.rank != axes.count(",") + 1:
            raise ValueError(f"y_true must have shape {axes} with lists={self.lists!r}, got {topics.shape}")
        topics = topics if topics.dtype.is_floating else tf.cast(topics, tf.float32)
        largest = item_labels(topics)
        lists, scores = self.resolved(largest if groups is None else (groups, largest), y_pred, sample_weight)
        topics = tf.cast(topics if self.lists == "rows" else topics[tf.newaxis], lists.labels.dtype)
        return self.add_lists(lists, scores, topics)


@export
class AlphaDCG(TopicMetric):
    """The discounted cumulative gain of items that cover topics, averaged over lists: a measure of diversity.

    `alpha-DCG = sum_{r <= k} D(r) w sum_t y_t (1 - alpha)^(c_t) / v`. y_t is the label of the item at rank r for topic
    t, w its weight, c_t the sum of the labels for this topic before rank r, and v the mean weight of the items with a
    topic. The more often a topic has come before, the less it adds.

    Args:
      k: number of ranks that count, None for all.
      alpha: how much of its gain a topic loses each time it is covered, at least 0 and below 1.
      discount: as in `NDCG`.
      **kwargs: `lists`, `padding`, `name` and `dtype`, as in `NDCG`.

    Call arguments:
      y_true: `[batch, n, topics]`, dense, 1 if the item covers the topic, else 0. An item with any label above 0 has a
        topic. By default an item whose labels are all below 0 is padding.
      y_pred, sample_weight: as in `NDCG`.

    Items with equal scores keep the order of the list. A list without a covered topic has the value 0. NaN, errors and
    cost are those of `NDCG`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> metric = ks.AlphaDCG()
    >>> topics = tf.constant([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    >>> _ = metric.update_state(topics, tf.constant([[3.0, 2.0, 1.0]]))
    >>> round(float(metric.result()), 4)
    1.8155

    Source: C. Clarke, M. Kolla, G. Cormack, O. Vechtomova, A. Ashkan, S. Buttcher, I. MacKinnon, "Novelty and Diversity
    in Information Retrieval Evaluation", SIGIR 2008.
    """

    _measures = staticmethod(alpha_dcg_measures)

    def __init__(
        self,
        k: int | None = None,
        *,
        alpha: float = 0.5,
        discount: str | Callable[[tf.Tensor], tf.Tensor] = "log2",
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class PrecisionIA(TopicMetric, RelevanceMetric):
    """The intent-aware precision of items that cover topics, averaged over lists: Precision-IA@k.

    It is the mean of the precision over the topics that some item of the list covers, a measure of diversity.

    Args:
      k: number of ranks that count, None for all.
      min_label: the smallest label of an item that covers the topic.
      ties: rule for items with equal scores, `"position"` or `"mean"`, as in `Precision`.
      no_relevant: the value of a list without a covered topic, `"zero"`, `"one"` or `"skip"`, as in `Precision`.
      **kwargs: `lists`, `padding`, `name` and `dtype`, as in `Precision`.

    Padding, NaN, errors and cost are those of `Precision`.

    Call arguments:
      y_true: `[batch, n, topics]`, dense. Items with a label of at least `min_label` cover the topic. By default an
        item whose labels are all below 0 is padding.
      y_pred, sample_weight: as in `Precision`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> metric = ks.PrecisionIA(k=2)
    >>> topics = tf.constant([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    >>> _ = metric.update_state(topics, tf.constant([[3.0, 2.0, 1.0]]))
    >>> float(metric.result())
    0.5

    Source: C. Clarke, N. Craswell, I. Soboroff, "Overview of the TREC 2009 Web Track", TREC 2009.
    """

    _measures = staticmethod(precision_ia_measures)
