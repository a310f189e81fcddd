"""Orders of the items of a list: sort keys, gathers by an order, its inverse, sums of groups, and ranks of ties."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_softsort.ops.core.axes import list_size, with_static_shape
from keras_softsort.ops.core.tracing import compares_pairs, on_device

# TensorFlow 2.15 gives the gradient of `tf.gather` another shape if the batch is empty.
LOSES_SHAPE_OF_NO_LISTS = tuple(map(int, tf.__version__.split(".")[:2])) < (2, 16)


def take(values: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    """Gather along the lists of a batch: `values[b, indices[b, r]]`, with `indices` [B, r], or [1, r] for all lists."""
    size = values.shape[1]
    if compares_pairs(size):
        chosen = tf.equal(indices[:, :, tf.newaxis], tf.range(size))
        inner = [1] * (values.shape.rank - 2)
        chosen = tf.reshape(chosen, tf.concat([tf.shape(chosen), inner], axis=0)) if inner else chosen
        if values.dtype == tf.bool:
            return tf.reduce_any(tf.logical_and(chosen, values[:, tf.newaxis]), axis=2)
        return tf.reduce_sum(tf.where(chosen, values[:, tf.newaxis], tf.zeros([], values.dtype)), axis=2)
    if LOSES_SHAPE_OF_NO_LISTS:
        values = tf.reshape(values, tf.shape(values))  # whose gradient has this shape again
    indices = on_device(indices)
    if indices.shape[0] == 1:
        return tf.gather(values, indices[0], axis=1)
    return tf.gather(values, indices, batch_dims=1)


def descending(keys: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The keys [B, n] in descending order and their int32 items, the first of equal keys first; without a gradient."""
    return tf.math.top_k(plus_zeros(tf.stop_gradient(keys)), list_size(keys))


def masked_last(values: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """Sort keys: the `values`, with the lowest finite number where masked, and lower ones as the number above it."""
    if mask is None:
        return values
    lowest = np.asarray(values.dtype.min, values.dtype.as_numpy_dtype)
    return tf.where(mask, tf.maximum(values, np.nextafter(lowest, -lowest)), tf.constant(lowest))


def inverse(order: tf.Tensor, size: tf.Tensor | None = None) -> tf.Tensor:
    """The rank of each item `[B, size]` in `order` [B, k], or k for an item that is not in it. `size` defaults to k.

    A segment sum costs less than a second sort, and unlike a scatter works under `tf.vectorized_map`.
    """
    batch, count = tf.shape(order)[0], list_size(order)
    # An item that is not in the order has the sum 0.
    from_last = tf.broadcast_to(tf.range(count, 0, -1), [batch, count])
    sums = on_device(group_sums(from_last, order, count if size is None else size))
    ranks = tf.cast(tf.cast(count, sums.dtype) - sums, tf.int32)
    return with_static_shape(ranks, order.shape) if size is None else ranks


def group_sums(values: tf.Tensor, groups: tf.Tensor, size: int | tf.Tensor) -> tf.Tensor:
    """The sum of the `values` [B, m] of each group [B, size] of a list, by the numbers `groups` [B, m], from 0."""
    known = tf.get_static_value(size)
    if known is not None and compares_pairs(int(known)):
        chosen = tf.equal(groups[:, tf.newaxis, :], tf.range(size)[:, tf.newaxis])
        return tf.reduce_sum(tf.where(chosen, values[:, tf.newaxis, :], tf.zeros([], values.dtype)), axis=2)
    batch = groups.shape[0] or tf.shape(groups)[0]
    groups = on_device(groups)
    places = groups + tf.cast(size * tf.range(batch)[:, tf.newaxis], groups.dtype)
    sums = tf.math.unsorted_segment_sum(_reshaped(values, [-1]), tf.reshape(places, [-1]), batch * size)
    return _reshaped(sums, [batch, size])


def valid_counts(mask: tf.Tensor, keepdims: bool = False) -> tf.Tensor:
    """The int32 number of valid items of each list, for a `mask` [..., n]."""
    return tf.cast(tf.reduce_sum(on_device(tf.cast(mask, tf.int32)), axis=-1, keepdims=keepdims), tf.int32)


def _reshaped(values: tf.Tensor, shape: list) -> tf.Tensor:
    return tf.cast(tf.reshape(on_device(values), shape), values.dtype)


def plus_zeros(values: tf.Tensor) -> tf.Tensor:
    """`values` with 0.0 for -0.0, which XLA sorts before 0.0."""
    zero = tf.zeros([], values.dtype)
    return tf.where(tf.equal(values, zero), zero, values)


def leading_columns(logits: tf.Tensor, row_mask: tf.Tensor) -> tf.Tensor:
    """Mark as many leading columns as there are valid rows in a square matrix, and all columns otherwise."""
    rows, columns = tf.unstack(tf.shape(logits)[1:])
    valid = valid_counts(row_mask)
    return tf.sequence_mask(tf.where(tf.equal(rows, columns), valid, columns), columns)


def tie_groups(sort_keys: tf.Tensor) -> tf.Tensor:
    """The number, from 0, of the group of equal keys at each rank [B, n], for `sort_keys` [B, n] in order."""
    after = tf.concat([sort_keys[:, 1:], sort_keys[:, -1:]], axis=-1)
    # Exclusive, so that the first group is 0 for NaN too, which differs from itself.
    return tf.cumsum(tf.cast(tf.not_equal(sort_keys, after), tf.int32), axis=-1, exclusive=True)


def tied_ranks(sort_keys: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The first and the last rank [B, n] of each key in descending `sort_keys` [B, n]. NaN differs from itself."""
    groups = tie_groups(sort_keys)
    sizes = on_device(group_sums(tf.ones_like(groups), groups, list_size(groups)))
    ends = tf.cumsum(sizes, axis=-1)
    first, last = take(ends - sizes, groups), take(ends, groups) - 1
    return tf.cast(first, tf.int32), tf.cast(last, tf.int32)


def tie_sums(values: tf.Tensor, first: tf.Tensor) -> tf.Tensor:
    """The sum of the `values` [B, n] of ranks that are tied: that have the same `first` rank [B, n]."""
    return take(group_sums(values, first, list_size(values)), first)


def mean_ranks(values: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """`1 + (larger values) + (other equal values) / 2` of each of the `values` [B, n]; 0 where masked."""
    keys, order = descending(masked_last(values, mask))
    first, last = tied_ranks(keys)
    means = tf.cast(take(on_device(first) + on_device(last), inverse(order)), values.dtype) / 2 + 1
    return means if mask is None else tf.where(mask, means, tf.zeros_like(means))
