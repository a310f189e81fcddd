"""The parts of NDCG: the gains of labels, the discounts of ranks, and the DCG of the best order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.core.axes import list_size
from keras_softsort.ops.ranking.lists import RankingLists

GAINS = ("exponential", "linear")
DISCOUNTS = ("log2", "reciprocal")


def checked_discount(name: str, value: Any) -> str | tuple[float, ...]:
    """Return the discount of ranks: a name, or a tuple of the numbers of the first ranks."""
    if isinstance(value, str):
        return arguments.one_of(name, value, DISCOUNTS)
    if not isinstance(value, Sequence) or not value:
        raise TypeError(f"{name} must be a name or a sequence of numbers, got {value!r}")
    numbers = tuple(arguments.non_negative_number(name, each) for each in value)
    if list(numbers) != sorted(numbers, reverse=True):
        raise ValueError(f"{name} must not rise from one rank to the next, got {value!r}")
    return numbers


# The checks of the options that the losses of the NDCG family share.
NDCG_CHECKS: dict[str, Any] = {
    "k": arguments.optional_positive_integer,
    "gain": arguments.choice(*GAINS),
    "discount": checked_discount,
    "normalization": arguments.choice("ideal", "none"),
}


def ndcg_parts(
    lists: RankingLists, k: int | None, gain: str, discount: str | Sequence[float], normalization: str
) -> tuple[tf.Tensor, tf.Tensor]:
    """The weighted gains [B, n], by default divided by the ideal DCG, and the discounts of the ranks that count.

    These are `[k]`, or fewer if lists are shorter.
    """
    if isinstance(discount, str):
        rank_weights = rank_discounts(lists.scores, kind=discount)
        rank_weights = rank_weights if k is None else rank_weights[:k]
    else:
        rank_weights = tf.constant(discount[:k], lists.scores.dtype)[: list_size(lists.scores)]
    if normalization == "none":
        return lists.weighted(absolute_gains(lists, gain)), rank_weights
    return lists.weighted(normalized_gains(lists, gain, rank_weights)), rank_weights


def relative_gains(lists: RankingLists, gain: str | Callable) -> tf.Tensor:
    """The gains `[batch, n]` of finite labels, up to a factor per list, which NDCG does not depend on; 0 where masked.

    Labels are 0 where masked. `"exponential"` is 2^label - 1 in units of 2^(the largest label), which never overflows.
    """
    if gain != "exponential":
        return absolute_gains(lists, gain)
    labels = lists.labels
    largest = tf.reduce_max(labels, axis=-1, keepdims=True)
    # (1 - 2^-label) 2^label, which keeps the precision of small labels.
    return -tf.math.expm1(labels * -math.log(2)) * tf.pow(tf.constant(2, labels.dtype), labels - largest)


def absolute_gains(lists: RankingLists, gain: str | Callable) -> tf.Tensor:
    """The gains `[batch, n]` of labels, 0 where masked.

    Without XLA, exponential gains whose sum is not finite raise an error.
    """
    labels = lists.labels
    if callable(gain):
        return lists.only_valid(tf.cast(gain(labels), labels.dtype))
    if gain == "linear":
        return labels
    gains = tf.pow(tf.constant(2, labels.dtype), labels) - 1
    # The sum is an upper bound of the DCG with each named discount.
    is_finite = tf.reduce_all(tf.math.is_finite(tf.reduce_sum(gains, axis=-1)))
    return checked_gains(gains, is_finite, labels)


def checked_gains(values: tf.Tensor, are_finite: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Return `values`, which are made of the exponential gains of `labels`, if they are finite."""
    limit = round(math.log2(labels.dtype.max))
    message = f"labels must be small enough for gains 2^label - 1 in {labels.dtype.name}, at most about {limit - 1}; "
    remedy = "for larger ones take gain='linear', or float64 up to 1,023. The largest label is"
    return arguments.checked(values, are_finite, message + remedy, tf.reduce_max(labels))


def discounts(ranks: tf.Tensor, kind: str | Callable = "log2") -> tf.Tensor:
    """1 / log2(1 + rank), 1 / rank, or a function, for ranks from 1 on, which need not be integers."""
    if callable(kind):
        return tf.cast(kind(ranks), ranks.dtype)
    if kind == "reciprocal":
        return 1 / ranks
    return math.log(2) / tf.math.log1p(ranks)


def rank_discounts(lists: tf.Tensor, k: int | None = None, kind: str | Callable = "log2") -> tf.Tensor:
    """The discounts [n] of the ranks 1, 2, ... of `lists` [B, n], in their dtype; 0 after the k-th."""
    ranks = tf.cast(tf.range(1, list_size(lists) + 1), lists.dtype)
    every = discounts(ranks, kind)
    return every if k is None else tf.where(ranks <= k, every, tf.zeros_like(every))


def ideal_dcg(gains: tf.Tensor, rank_weights: tf.Tensor) -> tf.Tensor:
    """The DCG of the best order of `gains` [batch, n], with the discounts [n or fewer] of its ranks: [batch]."""
    best = tf.math.top_k(tf.stop_gradient(gains), rank_weights.shape[0] or tf.shape(rank_weights)[0]).values
    return tf.reduce_sum(best * rank_weights, axis=-1)


def normalized_gains(lists: RankingLists, gain: str | Callable, rank_weights: tf.Tensor) -> tf.Tensor:
    """The gains `[batch, n]` of labels, divided by the ideal DCG of their list, so that their DCG is the NDCG."""
    gains = relative_gains(lists, gain)
    return tf.math.divide_no_nan(gains, ideal_dcg(gains, rank_weights)[:, tf.newaxis])
