"""Groups of items with equal sort keys, and their ranks."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.core.axes import list_size
from keras_softsort.ops.core.order import descending, group_sums, inverse, masked_last, take


def tie_groups(sort_keys: tf.Tensor) -> tf.Tensor:
    """The number, from 0, of the group of equal keys at each rank [B, n], for `sort_keys` [B, n] in order."""
    after = tf.concat([sort_keys[:, 1:], sort_keys[:, -1:]], axis=-1)
    # Exclusive, so that the first group is 0 for NaN too, which differs from itself.
    return tf.cumsum(tf.cast(tf.not_equal(sort_keys, after), tf.int32), axis=-1, exclusive=True)


def tied_ranks(sort_keys: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The first and the last rank [B, n] of each key in descending `sort_keys` [B, n]. NaN differs from itself."""
    groups = tie_groups(sort_keys)
    sizes = group_sums(tf.ones_like(groups), groups, list_size(groups))
    last = take(tf.cumsum(sizes, axis=-1), groups) - 1
    return last - take(sizes, groups) + 1, last


def tie_sums(values: tf.Tensor, first: tf.Tensor) -> tf.Tensor:
    """The sum of the `values` [B, n] of ranks that are tied: that have the same `first` rank [B, n]."""
    return take(group_sums(values, first, list_size(values)), first)


def mean_ranks(values: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """`1 + (larger values) + (other equal values) / 2` of each of the `values` [B, n]; 0 where masked."""
    keys, order = descending(masked_last(values, mask))
    first, last = tied_ranks(keys)
    means = tf.cast(take(first + last, inverse(order)), values.dtype) / 2 + 1
    return means if mask is None else tf.where(mask, means, tf.zeros_like(means))
