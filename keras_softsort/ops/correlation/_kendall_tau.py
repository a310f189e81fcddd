"""Kendall's tau-b of two lists."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.lists import inverse, take
from keras_softsort.ops.correlation._inversions import count_inversions
from keras_softsort.ops.correlation._sorted_lists import descending_order, valid_first, valid_ties


def kendall_tau(first: tf.Tensor, second: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Tau-b of the valid items of `first` and `second` [batch, n]: float64 [batch], 0 if one of them is constant.

    O(n log n) time and O(n) memory per list, by the method of W. Knight, "A Computer Method for Calculating Kendall's
    Tau with Ungrouped Data", 1966. Items are sorted by the first list, and tied ones by the second. The discordant
    pairs are then the inversions of the second list.
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
