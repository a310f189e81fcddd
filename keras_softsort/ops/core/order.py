"""Orders of the items of a list: sort keys, gathers by an order, its inverse, and sums of groups."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.python import xla

from keras_softsort.ops.core.axes import list_size, with_static_shape
from keras_softsort.ops.core.target import compares_pairs, sorts_integers
from keras_softsort.ops.core.tracing import is_compiled

# TensorFlow 2.15 gives the gradient of `tf.gather` another shape if the batch is empty.
LOSES_SHAPE_OF_NO_LISTS = tuple(map(int, tf.__version__.split(".")[:2])) < (2, 16)
_LOWER_HALF = 2**32


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
    if indices.shape[0] == 1:
        return tf.gather(values, indices[0], axis=1)
    return tf.gather(values, indices, batch_dims=1)


def in_order(values: tf.Tensor, order: tf.Tensor) -> tf.Tensor:
    """`take` of `values` [B, n], with a gradient of few operations. That of a gather has fifty and is slow to trace.

    It is not for a branch of `tf.cond`, which TensorFlow cannot differentiate twice with it.
    """

    @tf.custom_gradient
    def taken(values: tf.Tensor) -> tuple:
        return take(values, order), lambda upstream: group_sums(upstream, order, list_size(values))

    return take(values, order) if compares_pairs(values.shape[1]) else taken(values)


def descending(keys: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The keys [B, n] in descending order and their int32 items, the first of equal keys first; without a gradient."""
    keys = tf.stop_gradient(keys)
    if sorts_integers(keys.dtype):
        return _descending_integers(keys)
    return tf.math.top_k(plus_zeros(keys) if is_compiled() else keys, list_size(keys))


def _descending_integers(keys: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """`descending` by a sort of integers: the upper half of each is a float32 key, and the lower half its item."""
    items = tf.range(list_size(keys), dtype=tf.int64)
    both = xla.sort(items - _LOWER_HALF * tf.cast(_integers(tf.bitcast(keys, tf.int32)), tf.int64))
    integers = tf.cast(-tf.bitwise.right_shift(both, tf.constant(32, tf.int64)), tf.int32)
    return tf.bitcast(_integers(integers), keys.dtype), tf.cast(tf.bitwise.bitwise_and(both, _LOWER_HALF - 1), tf.int32)


def _integers(bits: tf.Tensor) -> tf.Tensor:
    """Integers in the order of the numbers with these bits, 0 for -0.0 too, and the bits of such integers."""
    return tf.where(bits < 0, tf.int32.min - bits, bits)


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
    ranks = count - group_sums(from_last, order, count if size is None else size)
    return with_static_shape(ranks, order.shape) if size is None else ranks


def group_sums(values: tf.Tensor, groups: tf.Tensor, size: int | tf.Tensor) -> tf.Tensor:
    """The sum of the `values` [B, m] of each group [B, size] of a list, by the numbers `groups` [B, m], from 0."""
    known = tf.get_static_value(size)
    if known is not None and compares_pairs(int(known)):
        chosen = tf.equal(groups[:, tf.newaxis, :], tf.range(size)[:, tf.newaxis])
        return tf.reduce_sum(tf.where(chosen, values[:, tf.newaxis, :], tf.zeros([], values.dtype)), axis=2)
    batch = groups.shape[0] or tf.shape(groups)[0]
    places = groups + size * tf.range(batch)[:, tf.newaxis]
    sums = tf.math.unsorted_segment_sum(tf.reshape(values, [-1]), tf.reshape(places, [-1]), batch * size)
    return tf.reshape(sums, [batch, size])


def plus_zeros(values: tf.Tensor) -> tf.Tensor:
    """`values` with 0.0 for -0.0, which XLA sorts before 0.0."""
    zero = tf.zeros([], values.dtype)
    return tf.where(tf.equal(values, zero), zero, values)


def leading_columns(logits: tf.Tensor, row_mask: tf.Tensor) -> tf.Tensor:
    """Mark as many leading columns as there are valid rows in a square matrix, and all columns otherwise."""
    rows, columns = tf.unstack(tf.shape(logits)[1:])
    valid = tf.reduce_sum(tf.cast(row_mask, tf.int32), axis=-1)
    return tf.sequence_mask(tf.where(tf.equal(rows, columns), valid, columns), columns)
