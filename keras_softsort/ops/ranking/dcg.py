"""The parts of NDCG: the gains of labels, the discounts of ranks, and the DCG of the best order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.core.axes import list_size
from keras_softsort.ops.core.order import descending

GAINS = ("exponential", "linear")
DISCOUNTS = ("log2", "reciprocal")


class NDCGOptions(NamedTuple):
    """The static options that the losses of the NDCG family share."""

    k: int | None
    gain: str
    discount: str | Sequence[float]
    normalization: str

    def gains(self, labels: tf.Tensor, mask: tf.Tensor | None, rank_weights: tf.Tensor) -> tf.Tensor:
        """The gains `[batch, n]` of labels of at least 0, by default divided by the ideal DCG; 0 where masked."""
        if self.normalization == "none":
            return absolute_gains(labels, mask, self.gain)
        return normalized_gains(labels, mask, self.gain, rank_weights)

    def rank_weights(self, scores: tf.Tensor) -> tf.Tensor:
        """The discounts of the ranks that count: `[k]`, or fewer if lists are shorter."""
        size = list_size(scores)
        if isinstance(self.discount, str):
            every = rank_discounts(size, scores.dtype, kind=self.discount)
            return every if self.k is None else every[: self.k]
        return tf.constant(self.discount[: self.k], scores.dtype)[:size]


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


def relative_gains(labels: tf.Tensor, mask: tf.Tensor | None, gain: str | Callable) -> tf.Tensor:
    """The gains `[batch, n]` of finite labels, up to a factor per list, which NDCG does not depend on; 0 where masked.

    Labels are 0 where masked. `"exponential"` is 2^label - 1 in units of 2^(the largest label), which never overflows.
    """
    if gain != "exponential":
        return absolute_gains(labels, mask, gain)
    largest = tf.reduce_max(labels, axis=-1, keepdims=True)
    # (1 - 2^-label) 2^label, which keeps the precision of small labels.
    return -tf.math.expm1(labels * -math.log(2)) * tf.pow(tf.constant(2, labels.dtype), labels - largest)


def absolute_gains(labels: tf.Tensor, mask: tf.Tensor | None, gain: str | Callable) -> tf.Tensor:
    """The gains `[batch, n]` of labels, 0 where masked. Without XLA, exponential ones of no finite sum are an error."""
    if callable(gain):
        gains = tf.cast(gain(labels), labels.dtype)
        return gains if mask is None else tf.where(mask, gains, tf.zeros_like(gains))
    if gain == "linear":
        return labels
    gains = tf.pow(tf.constant(2, labels.dtype), labels) - 1
    # The sum, which is at least any DCG with the discounts by name.
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


def rank_discounts(size: Any, dtype: tf.DType, k: int | None = None, kind: str | Callable = "log2") -> tf.Tensor:
    """The discounts [size] of the ranks 1, 2, ...; 0 after the k-th."""
    ranks = tf.cast(tf.range(1, size + 1), dtype)
    every = discounts(ranks, kind)
    return every if k is None else tf.where(ranks <= k, every, tf.zeros_like(every))


def ideal_dcg(gains: tf.Tensor, rank_weights: tf.Tensor) -> tf.Tensor:
    """The DCG of the best order of `gains` [batch, n], with the discounts [n or fewer] of its ranks: [batch]."""
    best, _ = descending(gains)
    if gains.shape[1] is None or gains.shape[1] != rank_weights.shape[0]:
        best = best[:, : tf.shape(rank_weights)[0]]
    return tf.reduce_sum(best * rank_weights, axis=-1)


def normalized_gains(
    labels: tf.Tensor, mask: tf.Tensor | None, gain: str | Callable, rank_weights: tf.Tensor
) -> tf.Tensor:
    """The gains `[batch, n]` of labels, divided by the ideal DCG of their list, so that their DCG is the NDCG."""
    gains = relative_gains(labels, mask, gain)
    return tf.math.divide_no_nan(gains, ideal_dcg(gains, rank_weights)[:, tf.newaxis])
