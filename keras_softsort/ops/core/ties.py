"""Groups of items with equal sort keys, and their ranks."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.core.axes import list_size
from keras_softsort.ops.core.order import descending, group_sums, inverse, masked_last, take
from keras_softsort.ops.core.target import compares_pairs
from keras_softsort.ops.core.tracing import is_compiled


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


def first_ranks_of_numbers(sort_keys: tf.Tensor) -> tf.Tensor:
    """The first of the `tied_ranks` of keys without NaN."""
    if is_compiled():  # XLA compares all pairs to search
        return tied_ranks(sort_keys)[0]
    ascending = -sort_keys
    return tf.searchsorted(ascending, ascending)


def tie_sums(values: tf.Tensor, first: tf.Tensor) -> tf.Tensor:
    """The sum of the `values` [B, n] of ranks that are tied: that have the same `first` rank [B, n]."""
    return take(group_sums(values, first, list_size(values)), first)


def tie_means(values: tf.Tensor, keys: tf.Tensor, order: tf.Tensor, ranks: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
    """The mean of the `values` of the items that are tied with that at each rank: [B, n].

    The `values` and `keys` [B, n] are in the order of the list, and `ranks` are the `tied_ranks`.
    """
    if not compares_pairs(keys.shape[1]):
        first, last = ranks
        return tie_sums(take(values, order), first) / tf.cast(last - first + 1, values.dtype)
    tied, zero = tf.equal(keys[:, tf.newaxis], keys[..., tf.newaxis]), tf.zeros([], values.dtype)
    sums = tf.reduce_sum(tf.where(tied, values[:, tf.newaxis], zero), axis=2)
    return take(sums / tf.reduce_sum(tf.cast(tied, values.dtype), axis=2), order)


def mean_ranks(values: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """The ranks of `values` [B, n], 1 for the largest. Tied values get the mean of their ranks, masked ones 0."""
    if compares_pairs(values.shape[1]):
        return _compared_ranks(values, mask)
    keys, order = descending(masked_last(values, mask))
    first, last = tied_ranks(keys)
    means = tf.cast(take(first + last, inverse(order)), values.dtype) / 2 + 1
    return means if mask is None else tf.where(mask, means, tf.zeros_like(means))


def _compared_ranks(values: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """The `mean_ranks`, as one more than the number of larger values and half of the number of other equal ones."""
    own, others = values[:, :, tf.newaxis], values[:, tf.newaxis, :]
    points = tf.cast(others > own, tf.int32) - tf.cast(others < own, tf.int32)
    if mask is None:
        return tf.cast(tf.reduce_sum(points, axis=2) + values.shape[1] + 1, values.dtype) / 2
    points = tf.where(mask[:, tf.newaxis, :], points + 1, 0)
    return tf.where(mask, tf.cast(tf.reduce_sum(points, axis=2) + 1, values.dtype) / 2, tf.zeros([], values.dtype))
