"""Rank correlations of two lists of numbers, with ties and masks."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.core.axes import list_size
from keras_softsort.ops.core.order import descending, inverse, masked_last, take
from keras_softsort.ops.core.target import compares_pairs
from keras_softsort.ops.core.ties import mean_ranks, tied_ranks
from keras_softsort.ops.metrics._inversions import count_inversions
from keras_softsort.ops.ranking.lists import RankingArguments, RankingLists, per_list


@export
def kendall_tau(first: Any, second: Any, *, mask: Any = None) -> tf.Tensor:
    """Compute Kendall's tau-b of two lists of numbers.

    With c concordant pairs of items, d discordant ones, and m pairs in all, of which t are tied in the first list and u
    in the second: `(c - d) / sqrt((m - t) (m - u))`, from -1 (reversed) to 1 (same order). See `KendallTau` for use.

    Args:
      first: numbers `[..., n]`, of any sign, which may be infinite.
      second: numbers of the same shape.
      mask: bool `[..., n]`, True for valid items.

    Returns:
      float64 `[...]`, without a gradient. A list with fewer than two items, or with constant numbers on one side, gives
      0. A list with a valid NaN gives NaN.

    Raises:
      TypeError: the numbers are not real, or `mask` is not bool.
      ValueError: the shapes do not match.

    Cost: O(n log n) time and O(n) memory per list.

    Example:
      >>> round(float(ks.ops.kendall_tau([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0])), 4)
      0.6667

    Source: M. Kendall, "The Treatment of Ties in Ranking Problems", Biometrika 33, 1945; W. Knight, "A Computer Method
    for Calculating Kendall's Tau with Ungrouped Data", Journal of the American Statistical Association 61, 1966.
    """
    difference, *untied = (tf.cast(count, tf.float64) for count in _pair_counts(_checked(first, second, mask)))
    return tf.math.divide_no_nan(difference, tf.sqrt(untied[0]) * tf.sqrt(untied[1]))


@export
def spearman_correlation(first: Any, second: Any, *, mask: Any = None) -> tf.Tensor:
    """Compute Spearman's rank correlation of two lists of numbers: Pearson's correlation of their ranks.

    Tied items have their mean rank. `spearman_loss` is the loss with soft ranks. Results, errors and cost are those of
    `kendall_tau`. For float32 lists that a GPU or a TPU compares by pairs, the result has the precision of float32. See
    `SpearmanCorrelation` for its use.

    Args:
      first, second, mask: as in `kendall_tau`.

    Example:
      >>> round(float(ks.ops.spearman_correlation([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0])), 4)
      0.8

    Source: C. Spearman, "The Proof and Measurement of Association between Two Things", Am. J. Psychology 15, 1904.
    """
    return tf.cast(_rank_correlation(_checked(first, second, mask)), tf.float64)


def _checked(first: Any, second: Any, mask: Any) -> RankingArguments:
    """The checked arguments: `first` as the scores and `second` as the labels of lists."""
    first, second = (_floating_list(name, values) for name, values in (("first", first), ("second", second)))
    is_float32 = tf.float64 not in (first.dtype, second.dtype)
    dtype = tf.float32 if is_float32 and compares_pairs(first.shape[-1]) else tf.float64
    first, second = (tf.stop_gradient(tf.cast(each, dtype)) for each in (first, second))
    if not second.shape.is_compatible_with(first.shape):
        raise ValueError(f"second must have the shape of first, {first.shape}, got {second.shape}")
    second = arguments.of_shape("second", second, tf.shape(first))
    return RankingArguments(first, second, arguments.list_mask(mask, first, "first"), weights=None, tau=None)


def _floating_list(name: str, values: Any) -> tf.Tensor:
    """Return `values` as a floating-point tensor [..., n]. Integers become float64, which holds them exactly."""
    tensor = arguments.real_tensor(name, values)
    return arguments.list_tensor(name, tensor if tensor.dtype.is_floating else tf.cast(tensor, tf.float64))


def _are_numbers(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """Whether items have two numbers, which may be infinite."""
    return tf.logical_not(tf.logical_or(tf.math.is_nan(first), tf.math.is_nan(second)))


class PairCounts(NamedTuple):
    """Numbers of pairs of valid items [B]."""

    difference: tf.Tensor  # concordant pairs minus discordant ones
    untied_first: tf.Tensor
    untied_second: tf.Tensor


@per_list(_are_numbers)
def _pair_counts(lists: RankingLists) -> PairCounts:
    counts = _compared_pairs if compares_pairs(list_size(lists.scores)) else _counted_pairs
    # Numbers below 2^24 in float32, and below 2^53 in float64.
    return PairCounts(*(tf.cast(each, lists.scores.dtype) for each in counts(lists)))


def _compared_pairs(lists: RankingLists) -> PairCounts:
    """The counts from all pairs of items."""

    def below(values: tf.Tensor) -> tf.Tensor:
        return values[:, tf.newaxis, :] < values[:, :, tf.newaxis]

    def count(pairs: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.cast(pairs, tf.int32), axis=[1, 2])

    first, second = below(lists.scores), below(lists.labels)
    if lists.mask is not None:
        valid = lists.mask[:, tf.newaxis, :] & lists.mask[:, :, tf.newaxis]
        first, second = first & valid, second & valid
    discordant = count(first & tf.transpose(second, [0, 2, 1]))
    return PairCounts(count(first & second) - discordant, count(first), count(second))


def _counted_pairs(lists: RankingLists) -> PairCounts:
    """The counts by Knight's method. Sorted by the first list, discordant pairs are inversions."""
    first, second = masked_last(lists.scores, lists.mask), masked_last(lists.labels, lists.mask)
    _, by_second = descending(second)
    order = take(by_second, descending(take(first, by_second))[1])
    first, second = take(first, order), take(second, order)
    sorted_second, second_order = descending(second)
    discordant = count_inversions(inverse(second_order))
    count = tf.reduce_sum(tf.cast(lists.valid(), tf.int64), axis=-1)
    # Pairs that are tied in one list, in the other, and in both.
    tied_first, tied_second, tied_both = (
        _tied_pairs(keys, count) for keys in (first, sorted_second, _joint_keys(first, second))
    )
    pairs = count * (count - 1) // 2
    difference = pairs - tied_first - tied_second + tied_both - 2 * discordant
    return PairCounts(difference, pairs - tied_first, pairs - tied_second)


def _tied_pairs(sort_keys: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """The number of pairs of the first `count` [B] ranks with equal keys: int64 [B]."""
    first, last = tied_ranks(sort_keys)
    others = tf.where(tf.sequence_mask(count, tf.shape(sort_keys)[1]), last - first, tf.zeros_like(last))
    return tf.reduce_sum(tf.cast(others, tf.int64), axis=-1) // 2


def _joint_keys(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """Descending integers [B, n] that are equal for items with equal values in both lists, sorted together."""

    def differs(values: tf.Tensor) -> tf.Tensor:
        return tf.not_equal(values, tf.concat([values[:, :1], values[:, :-1]], axis=-1))

    return -tf.cumsum(tf.cast(tf.logical_or(differs(first), differs(second)), tf.int32), axis=-1)


@per_list(_are_numbers)
def _rank_correlation(lists: RankingLists) -> tf.Tensor:
    """Spearman's correlation of lists [B]."""
    mean = (lists.sizes()[:, tf.newaxis] + 1) / 2
    ranks, others = (lists.only_valid(mean_ranks(values, lists.mask) - mean) for values in (lists.scores, lists.labels))
    spreads = [tf.reduce_sum(tf.square(values), axis=-1) for values in (ranks, others)]
    return tf.math.divide_no_nan(tf.reduce_sum(ranks * others, axis=-1), tf.sqrt(spreads[0]) * tf.sqrt(spreads[1]))
