"""Spearman's rank correlation of two lists."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.lists import inverse, take
from keras_softsort.ops.correlation._sorted_lists import descending_order, valid_first, valid_ties


def spearman_correlation(first: tf.Tensor, second: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Spearman's correlation of the valid items of `first` and `second` [batch, n]; tied items have their mean rank.

    The result is float64 [batch], 0 if one of the lists is constant. O(n log n) time and O(n) memory per list.
    """
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
