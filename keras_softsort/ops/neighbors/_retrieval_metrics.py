"""The retrieval metrics of queries, by soft ranks of their relevant candidates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.order import take

# (rank among all candidates, rank among the relevant ones) -> value, each [q]
Value = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


class JudgedCandidates(NamedTuple):
    """The candidates of each query, with their similarity and relevance."""

    similarities: tf.Tensor  # [q, c]
    tau: tf.Tensor  # [q, 1]
    members: tf.Tensor  # [q, c]: the share of the counted ranks that each candidate holds
    is_candidate: tf.Tensor  # [q, c] bool
    is_relevant: tf.Tensor  # [q, c] bool, True only for candidates


def _average_precision(judged: JudgedCandidates, k: int | None, divisor: str) -> tf.Tensor:
    total = sum_over_relevant(judged, lambda ranks, relevant_ranks: relevant_ranks / ranks)
    return tf.math.divide_no_nan(total, _count(judged.is_relevant, total, k if divisor == "at_most_k" else None))


def _ndcg(judged: JudgedCandidates, k: int | None, _: str) -> tf.Tensor:
    total = sum_over_relevant(judged, lambda ranks, _: _discounts(ranks))
    size = tf.shape(judged.similarities)[1]
    ideal = tf.cumsum(_discounts(tf.cast(tf.range(1, size + 1), total.dtype)))
    best = tf.gather(tf.pad(ideal, [[1, 0]]), tf.cast(_count(judged.is_relevant, total, k), tf.int32))
    return tf.math.divide_no_nan(total, best)


def _reciprocal_rank(judged: JudgedCandidates, k: int | None, _: str) -> tf.Tensor:
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


def _precision(judged: JudgedCandidates, k: int | None, _: str) -> tf.Tensor:
    found = _retrieved(judged)
    return tf.math.divide_no_nan(found, _count(judged.is_candidate, found, k))


def _recall(judged: JudgedCandidates, *_: Any) -> tf.Tensor:
    found = _retrieved(judged)
    return tf.math.divide_no_nan(found, _count(judged.is_relevant, found))


# Name -> function (judged, k, divisor) that returns the metric [q] of each query.
RETRIEVAL_METRICS: dict[str, Callable[[JudgedCandidates, int | None, str], tf.Tensor]] = {
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


def _count(are_counted: tf.Tensor, like: tf.Tensor, k: int | None = None) -> tf.Tensor:
    """The number of candidates that `are_counted` [q, c], at most k: [q] in the dtype of `like`."""
    counts = tf.reduce_sum(tf.cast(are_counted, like.dtype), axis=1)
    return counts if k is None else tf.minimum(counts, tf.cast(k, counts.dtype))


def _discounts(ranks: tf.Tensor) -> tf.Tensor:
    return tf.constant(math.log(2), ranks.dtype) / tf.math.log1p(ranks)


def sum_over_relevant(judged: JudgedCandidates, value: Value) -> tf.Tensor:
    """Compute `sum_i members_i value(rank_i, relevant_rank_i)` over the relevant candidates i of each query: [q].

    `rank_i = 1 + sum_{j != i} sigmoid((s_j - s_i) / tau)` over the candidates j, and `relevant_rank_i` over the
    relevant ones. A step of the loop computes one relevant candidate of every query; the gradient computes it again.
    """
    number = tf.cumsum(tf.cast(judged.is_relevant, tf.int32), axis=1)
    most = tf.reduce_max(number)

    def add_up(function: Callable[[tf.Tensor], Sequence[tf.Tensor]], zeros: Sequence[tf.Tensor]) -> tuple:
        """Sum the results of `function` over the numbers 1 to `most`."""

        def add(i: tf.Tensor, sums: tuple) -> tuple:
            return i + 1, tuple(map(tf.add, sums, function(i)))

        return tf.while_loop(lambda i, _: i <= most, add, (1, tuple(zeros)), parallel_iterations=1)[1]

    @tf.custom_gradient
    def total(similarities: tf.Tensor, tau: tf.Tensor, members: tf.Tensor) -> tuple:
        inputs = similarities, tau, members
        given = judged._replace(similarities=similarities, tau=tau, members=members)

        def gradient(upstream: tf.Tensor) -> tuple:
            def slopes(i: tf.Tensor) -> Sequence[tf.Tensor]:
                with tf.GradientTape() as tape:
                    tape.watch(inputs)
                    result = _term(given, number, i, value)
                return tape.gradient(result, inputs, output_gradients=upstream, unconnected_gradients="zero")

            return add_up(slopes, [tf.zeros_like(each) for each in inputs])

        zero = tf.reduce_sum(tf.zeros_like(similarities), axis=1)
        (result,) = add_up(lambda i: [_term(given, number, i, value)], [zero])
        return result, gradient

    return total(judged.similarities, judged.tau, judged.members)


def _term(judged: JudgedCandidates, number: tf.Tensor, i: tf.Tensor, value: Value) -> tf.Tensor:
    """Return the term of the relevant candidate that is the i-th by `number` [q, c]: [q], 0 if there are fewer."""
    found = tf.searchsorted(number, tf.fill([tf.shape(number)[0], 1], i))
    item = tf.minimum(found, tf.shape(number)[1] - 1)
    leads = (judged.similarities - take(judged.similarities, item)) / judged.tau
    above = tf.where(judged.is_candidate, tf.sigmoid(leads), tf.zeros_like(leads))
    relevant = tf.where(judged.is_relevant, above, tf.zeros_like(leads))
    # Each sum contains 1/2 for the candidate itself.
    values = value(tf.reduce_sum(above, axis=1) + 0.5, tf.reduce_sum(relevant, axis=1) + 0.5)
    return tf.where(i <= number[:, -1], take(judged.members, item)[:, 0] * values, tf.zeros_like(values))
