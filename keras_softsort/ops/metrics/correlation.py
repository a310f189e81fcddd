"""Rank correlations of two lists of numbers, with ties and masks."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.core.order import mean_ranks
from keras_softsort.ops.metrics._pairs import concordant_pairs, sum_dtype, untied_pairs
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
    counts = PairCounts(*(tf.cast(each, tf.float64) for each in _pair_counts(_checked(first, second, mask))))
    scale = tf.sqrt(counts.untied_first) * tf.sqrt(counts.untied_second)
    return tf.math.divide_no_nan(counts.concordant - counts.discordant, scale)


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
    dtype = sum_dtype(first, second)
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

    concordant: tf.Tensor
    discordant: tf.Tensor
    untied_first: tf.Tensor
    untied_second: tf.Tensor


@per_list(_are_numbers)
def _pair_counts(lists: RankingLists) -> PairCounts:
    first, second, mask, ones = lists.scores, lists.labels, lists.mask, lists.item_weights()
    return PairCounts(
        concordant_pairs(first, second, mask, ones),
        concordant_pairs(-first, second, mask, ones),
        untied_pairs(first, mask, ones),
        untied_pairs(second, mask, ones),
    )


@per_list(_are_numbers)
def _rank_correlation(lists: RankingLists) -> tf.Tensor:
    """Spearman's correlation of lists [B]."""
    mean = (lists.sizes()[:, tf.newaxis] + 1) / 2
    ranks, others = (lists.only_valid(mean_ranks(values, lists.mask) - mean) for values in (lists.scores, lists.labels))
    spreads = [tf.reduce_sum(tf.square(values), axis=-1) for values in (ranks, others)]
    return tf.math.divide_no_nan(tf.reduce_sum(ranks * others, axis=-1), tf.sqrt(spreads[0]) * tf.sqrt(spreads[1]))
