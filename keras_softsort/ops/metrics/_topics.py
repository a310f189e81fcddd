"""Labels of items for several topics, for metrics of diversity."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort.ops._core.lists import flatten_lists
from keras_softsort.ops.metrics._ranked_lists import metric_arguments
from keras_softsort.ops.ranking._lists import RankingArguments


def topic_arguments(scores: Any, labels: Any, mask: Any, weights: Any) -> tuple[RankingArguments, tf.Tensor]:
    """Check the arguments of metrics with labels `[..., n, topics]`: those of the items, and the topics [B, n, t]."""
    scores = arguments.list_tensor("scores", scores)
    topics = tf.cast(arguments.real_tensor("labels", labels), compute_dtype(scores.dtype))
    if topics.shape.rank != scores.shape.rank + 1:
        raise ValueError(f"labels must have shape [..., n, topics] with scores {scores.shape}, got {topics.shape}")
    return metric_arguments(scores, item_labels(topics), mask, weights), flatten_lists(topics, 2)


def item_labels(topics: tf.Tensor) -> tf.Tensor:
    """The largest label of each item: `[..., n]`; NaN if one is NaN."""
    has_nan = tf.reduce_any(tf.math.is_nan(topics), axis=-1)
    return tf.where(has_nan, tf.constant(math.nan, topics.dtype), tf.reduce_max(topics, axis=-1))


def covered(topics: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """The labels [B, n, topics] of valid items; 0 for labels below 0 and for the other items."""
    return tf.where(mask[..., tf.newaxis], tf.nn.relu(topics), tf.zeros_like(topics))
