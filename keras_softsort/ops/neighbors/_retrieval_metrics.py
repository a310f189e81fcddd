"""The retrieval metrics: functions of the judged candidates of queries that return [q]."""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort.ops._core.lists import take
from keras_softsort.ops.neighbors._soft_ranks import JudgedCandidates, sum_over_relevant


def _average_precision(judged: JudgedCandidates, k: int | None) -> tf.Tensor:
    total = sum_over_relevant(judged, lambda ranks, relevant_ranks: relevant_ranks / ranks)
    return tf.math.divide_no_nan(total, _most_retrieved(judged, k))


def _ndcg(judged: JudgedCandidates, k: int | None) -> tf.Tensor:
    total = sum_over_relevant(judged, lambda ranks, _: _discounts(ranks))
    size = tf.shape(judged.similarities)[1]
    ideal = tf.cumsum(_discounts(tf.cast(tf.range(1, size + 1), total.dtype)))
    best = tf.gather(tf.pad(ideal, [[1, 0]]), tf.cast(_most_retrieved(judged, k), tf.int32))
    return tf.math.divide_no_nan(total, best)


def _reciprocal_rank(judged: JudgedCandidates, k: int | None) -> tf.Tensor:
    dtype = judged.similarities.dtype
    lowest = tf.where(judged.is_relevant, judged.similarities, tf.constant(dtype.min, dtype))
    has_relevant = tf.reduce_any(judged.is_relevant, axis=1)
    best = tf.where(has_relevant, tf.reduce_max(lowest, axis=1), tf.zeros([], dtype))[:, tf.newaxis]
    is_above = tf.sigmoid((judged.similarities - best) / judged.tau)
    is_irrelevant = tf.logical_and(judged.is_candidate, tf.logical_not(judged.is_relevant))
    ranks = 1 + tf.reduce_sum(tf.where(is_irrelevant, is_above, tf.zeros_like(is_above)), axis=1)
    values = 1 / ranks
    if k is not None:
        values *= take(judged.members, tf.argmax(lowest, axis=1, output_type=tf.int32)[:, tf.newaxis])[:, 0]
    return tf.where(has_relevant, values, tf.zeros_like(values))


def _precision(judged: JudgedCandidates, k: int | None) -> tf.Tensor:
    return _retrieved(judged) / tf.cast(k, judged.members.dtype)


def _recall(judged: JudgedCandidates, _: int | None) -> tf.Tensor:
    return tf.math.divide_no_nan(_retrieved(judged), _most_retrieved(judged, None))


METRICS = {
    "average_precision": _average_precision,
    "mrr": _reciprocal_rank,
    "ndcg": _ndcg,
    "precision": _precision,
    "recall": _recall,
}
# The metrics that need k.
AT_K = ("precision", "recall")


def _retrieved(judged: JudgedCandidates) -> tf.Tensor:
    """The number of relevant candidates among the first k."""
    return tf.reduce_sum(tf.where(judged.is_relevant, judged.members, tf.zeros_like(judged.members)), axis=1)


def _most_retrieved(judged: JudgedCandidates, k: int | None) -> tf.Tensor:
    """The number of relevant candidates, at most k."""
    counts = tf.reduce_sum(tf.cast(judged.is_relevant, judged.similarities.dtype), axis=1)
    return counts if k is None else tf.minimum(counts, tf.cast(k, counts.dtype))


def _discounts(ranks: tf.Tensor) -> tf.Tensor:
    return tf.constant(math.log(2), ranks.dtype) / tf.math.log1p(ranks)
