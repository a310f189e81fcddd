"""Rank correlations of two lists of numbers, with ties and masks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops._core.lists import flatten_lists, inverse, plus_zeros, take, tied_ranks
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.metrics._inversions import count_inversions

Correlation = Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]


@export
def kendall_tau(first: Any, second: Any, *, mask: Any = None) -> tf.Tensor:
    """Compute Kendall's tau-b of two lists of numbers.

    With c concordant pairs of items, d discordant ones, and m pairs in all, of which t are tied in the first list and u
    in the second: `(c - d) / sqrt((m - t) (m - u))`, from -1 (reversed orders) to 1 (the same order).

    Args:
      first: numbers `[..., n]`, of any sign, which may be infinite.
      second: numbers of the same shape.
      mask: bool `[..., n]`, True for valid items.

    Returns:
      float64 `[...]`. Masked items are left out. A list with fewer than two items, or with constant numbers on one
      side, gives 0. A list with a valid NaN gives NaN. There is no gradient.

    Raises:
      TypeError: the numbers are not real, or `mask` is not bool.
      ValueError: the shapes do not match.

    Cost: O(n log n) time and O(n) memory per list.

    Example:

    >>> import keras_softsort as ks
    >>> round(float(ks.ops.kendall_tau([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0])), 4)
    0.6667

    Source: M. Kendall, "The Treatment of Ties in Ranking Problems", Biometrika 33, 1945; W. Knight, "A Computer Method
    for Calculating Kendall's Tau with Ungrouped Data", Journal of the American Statistical Association 61, 1966.
    """
    return _tau_b(*_checked(first, second, mask))


@export
def spearman_correlation(first: Any, second: Any, *, mask: Any = None) -> tf.Tensor:
    """Compute Spearman's rank correlation of two lists of numbers: Pearson's correlation of their ranks.

    Tied items have their mean rank. `spearman_loss` is the loss that is made of it.

    Args:
      first: numbers `[..., n]`, of any sign, which may be infinite.
      second: numbers of the same shape.
      mask: bool `[..., n]`, True for valid items.

    Returns:
      float64 `[...]`. Masked items are left out. A list with fewer than two items, or with constant numbers on one
      side, gives 0. A list with a valid NaN gives NaN. There is no gradient.

    Raises:
      TypeError: the numbers are not real, or `mask` is not bool.
      ValueError: the shapes do not match.

    Cost: O(n log n) time and O(n) memory per list.

    Example:

    >>> import keras_softsort as ks
    >>> round(float(ks.ops.spearman_correlation([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0])), 4)
    0.8

    Source: C. Spearman, "The Proof and Measurement of Association between Two Things", American Journal of
    Psychology 15, 1904.
    """
    return _rank_correlation(*_checked(first, second, mask))


def _checked(first: Any, second: Any, mask: Any) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The checked arguments, with a mask of all items by default."""
    first, second = (
        tf.cast(arguments.real_tensor(name, values), tf.float64)
        for name, values in (("first", first), ("second", second))
    )
    if not second.shape.is_compatible_with(first.shape):
        raise ValueError(f"second must have the shape of first, {first.shape}, got {second.shape}")
    second = arguments.of_shape("second", second, tf.shape(first))
    mask = arguments.list_mask(mask, first, "first")
    return first, second, tf.ones_like(first, tf.bool) if mask is None else mask


def _per_list(correlation: Correlation) -> Correlation:
    """Turn a function of lists [batch, n] into one of `[..., n]`, with NaN for lists with a valid NaN."""

    def run(first: tf.Tensor, second: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        flat, others, valid = (flatten_lists(tf.stop_gradient(part)) for part in (first, second, mask))
        results = correlation(flat, others, valid)
        failed = tf.logical_or(tf.math.is_nan(flat), tf.math.is_nan(others))
        failed = tf.reduce_any(tf.logical_and(failed, valid), axis=-1)
        results = tf.where(failed, tf.constant(math.nan, tf.float64), results)
        return tf.ensure_shape(tf.reshape(results, tf.shape(first)[:-1]), first.shape[:-1])

    return traced_if_eager(run)


@_per_list
def _tau_b(first: tf.Tensor, second: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Tau-b of lists [batch, n] by Knight's method: float64 [batch].

    Items are sorted by the first list, and tied ones by the second. The discordant pairs are then the inversions of the
    second list.
    """
    first, second = valid_first(first, mask), valid_first(second, mask)
    count = tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1, keepdims=True)

    by_second = descending_order(second)
    order = take(by_second, descending_order(take(first, by_second)))
    first, second = take(first, order), take(second, order)
    second_order = descending_order(second)
    discordant = count_inversions(inverse(second_order))

    # Pairs that are tied in one list, in the other, and in both.
    tied_first = _tied_pairs(first, count)
    tied_second = _tied_pairs(take(second, second_order), count)
    tied_both = _tied_pairs(_joint_keys(first, second), count)
    size = tf.cast(count[:, 0], tf.int64)
    pairs = size * (size - 1) // 2
    difference = pairs - tied_first - tied_second + tied_both - 2 * discordant
    untied = [tf.cast(pairs - tied, tf.float64) for tied in (tied_first, tied_second)]
    return tf.math.divide_no_nan(tf.cast(difference, tf.float64), tf.sqrt(untied[0]) * tf.sqrt(untied[1]))


def _tied_pairs(sort_keys: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """The number of pairs of valid ranks with equal keys: int64 [batch]."""
    first, last = valid_ties(sort_keys, count)
    is_valid = tf.range(tf.shape(sort_keys)[1]) < count
    others = tf.where(is_valid, last - first, tf.zeros_like(last))
    return tf.reduce_sum(tf.cast(others, tf.int64), axis=-1) // 2


def _joint_keys(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """Descending integers [batch, n] that are equal for items with equal values in both lists, sorted together."""

    def differs(values: tf.Tensor) -> tf.Tensor:
        return tf.not_equal(values, tf.concat([values[:, :1], values[:, :-1]], axis=-1))

    return -tf.cumsum(tf.cast(tf.logical_or(differs(first), differs(second)), tf.int32), axis=-1)


@_per_list
def _rank_correlation(first: tf.Tensor, second: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Spearman's correlation of lists [batch, n]: float64 [batch]."""
    count = tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1, keepdims=True)
    ranks, others = (_centered_ranks(valid_first(values, mask), count) for values in (first, second))
    spreads = [tf.reduce_sum(tf.square(values), axis=-1) for values in (ranks, others)]
    return tf.math.divide_no_nan(tf.reduce_sum(ranks * others, axis=-1), tf.sqrt(spreads[0]) * tf.sqrt(spreads[1]))


def _centered_ranks(values: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """Twice the difference of each rank to the mean rank, exact in float64 [batch, n]; 0 for items from `count` on."""
    order = descending_order(values)
    first, last = valid_ties(take(values, order), count)
    is_valid = tf.range(tf.shape(values)[1]) < count
    centered = tf.where(is_valid, first + last - (count - 1), tf.zeros_like(first))
    return tf.cast(take(centered, inverse(order)), tf.float64)


def valid_first(values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Move the valid `values` [batch, n] to the front, in their order, and fill the rest with -inf.

    A stable descending sort then leaves masked items behind all valid ones, even behind a valid -inf.
    """
    filled = tf.where(mask, plus_zeros(values), tf.constant(-math.inf, values.dtype))
    return take(filled, tf.argsort(tf.cast(tf.logical_not(mask), tf.int32), stable=True))


def descending_order(values: tf.Tensor) -> tf.Tensor:
    """The item at each rank [batch, n]. Equal values keep their order."""
    return tf.argsort(values, direction="DESCENDING", stable=True)


def valid_ties(sort_keys: tf.Tensor, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The first and the last valid rank [batch, n] with the same key as each rank, for descending `sort_keys`.

    The first `count` [batch, 1] ranks are valid. For the other ranks both results are equal.
    """
    first, last = tied_ranks(sort_keys)
    last = tf.minimum(last, count - 1)
    return tf.minimum(first, last), last
