"""The negative log-likelihood of orders under the Plackett-Luce model, and its options."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops._core.lists import descending, take, tied_ranks
from keras_softsort.ops.ranking._dcg import DISCOUNTS, rank_discounts
from keras_softsort.ops.ranking._lists import RankingLists
from keras_softsort.ops.sampling._choice_costs import Comparisons, Sequence, choice_costs, is_compared

TIES = ("breslow", "first")


class ListMLEOptions(NamedTuple):
    """The options that are fixed when traced."""

    k: int | None
    ties: str
    temperature: float
    discount: str | Callable | None


def list_mle_options(k: Any, ties: Any, temperature: Any, discount: Any) -> ListMLEOptions:
    """Check the arguments."""
    known = discount is None or callable(discount)
    return ListMLEOptions(
        k=None if k is None else arguments.positive_integer("k", k),
        ties=arguments.one_of("ties", ties, TIES),
        temperature=arguments.positive_number("temperature", temperature),
        discount=discount if known else arguments.one_of("discount", discount, DISCOUNTS),
    )


def negative_log_likelihood(lists: RankingLists, options: ListMLEOptions) -> tf.Tensor:
    """The loss of each list [B]."""
    dtype = lists.scores.dtype
    scores = lists.scores if options.temperature == 1 else lists.scores / options.temperature
    # Masked items come after all others, where no score is left to choose from, and so cost nothing.
    below_all = tf.constant(-math.inf, dtype)
    scores = tf.where(lists.mask, scores, below_all)
    labels = tf.where(lists.mask, tf.maximum(lists.labels, dtype.min), below_all)
    weights = lists.weights if lists.are_weighted else None
    compares = options.ties == "breslow" and options.k is None and options.discount is None
    if compares and is_compared(scores):
        return choice_costs(scores, weights, Comparisons(labels))
    size = labels.shape[1] or tf.shape(labels)[1]
    ordered, order = descending(labels)
    choices = Sequence(*tied_ranks(ordered, may_search=True)) if options.ties == "breslow" else Sequence()
    weights = None if weights is None else take(weights, order)
    if options.k is not None or options.discount is not None:
        counted = _counted(*choices.bounds(size), options, size, dtype)
        weights = tf.broadcast_to(counted, tf.shape(scores)) if weights is None else weights * counted
    return choice_costs(take(scores, order), weights, choices)


def _counted(first: tf.Tensor, last: tf.Tensor, options: ListMLEOptions, size: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """The mean weight of the ranks from `first` to `last`, counted from 0; ranks after the k-th weigh 0."""
    after = last + 1
    if options.discount is not None:
        sums = tf.pad(tf.cumsum(rank_discounts(size, dtype, options.k, options.discount)), [[1, 0]])
        return (tf.gather(sums, after) - tf.gather(sums, first)) / tf.cast(after - first, dtype)
    first, sizes = tf.cast(first, dtype), tf.cast(after - first, dtype)
    return tf.clip_by_value(options.k - first, 0, sizes) / sizes
