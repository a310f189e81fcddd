"""Metrics of diversity, for items that cover topics: alpha-DCG and intent-aware precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._targets.layout import groups_and_labels
from keras_softsort.metrics._base import RankingMetric, RelevanceMetric
from keras_softsort.ops.metrics.diversity import item_labels


class TopicMetric(RankingMetric):
    """Base class of metrics of scores whose labels have a last axis of topics."""

    def resolved(self, y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[Any, ...]:
        """The lists, the scores and the topics. The label of an item, which may mark padding, is its largest one."""
        groups, labels = groups_and_labels(y_true) if self.lists == "groups" else (None, y_true)
        topics = arguments.real_tensor("y_true", labels)
        axes = "[batch, n, topics]" if self.lists == "rows" else "[batch, topics]"
        if topics.shape.rank != axes.count(",") + 1:
            raise ValueError(f"y_true must have shape {axes} with lists={self.lists!r}, got {topics.shape}")
        topics = topics if topics.dtype.is_floating else tf.cast(topics, tf.float32)
        largest = item_labels(topics)
        lists, scores = super().resolved(largest if groups is None else (groups, largest), y_pred, sample_weight)
        return lists, scores, tf.cast(topics if self.lists == "rows" else topics[tf.newaxis], lists.labels.dtype)


@export
class AlphaDCG(TopicMetric):
    """The discounted cumulative gain of items that cover topics, averaged over lists: a measure of diversity.

    Use it if a list should serve several intents. `ops.alpha_dcg` has formula, ties and cost. The rest is as in `NDCG`.

    Args:
      k, alpha, discount: as in `ops.alpha_dcg`.
      **kwargs: `lists`, `padding`, `name` and `dtype`; see `NDCG`.

    Call arguments:
      y_true: `[batch, n, topics]`, dense, 1 if the item covers the topic, else 0. By default an item whose labels are
        all below 0 is padding. A list without a covered topic has the value 0.
      y_pred, sample_weight: see `NDCG`.

    Example:
      >>> round(float(ks.AlphaDCG()([[[1, 0], [1, 0], [0, 1]]], [[3.0, 2.0, 1.0]])), 4)
      1.8155
    """

    _operator = staticmethod(ops.alpha_dcg)

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

    A measure of diversity. The formula, cost and source are those of `ops.precision_ia`. The rest is as in `Precision`.

    Args:
      k, ties: see `Precision`.
      min_label: the smallest label of an item that covers the topic.
      no_relevant: the value of a list without a covered topic; see `NDCG`.
      **kwargs: `lists`, `padding`, `name` and `dtype`; see `NDCG`.

    Call arguments:
      y_true: `[batch, n, topics]`, dense, as in `AlphaDCG`.
      y_pred, sample_weight: see `Precision`.

    Example:
      >>> float(ks.PrecisionIA(k=2)([[[1, 0], [1, 0], [0, 1]]], [[3.0, 2.0, 1.0]]))
      0.5
    """

    _operator = staticmethod(ops.precision_ia)
