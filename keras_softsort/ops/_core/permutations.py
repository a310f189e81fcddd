"""Inverse permutations and the ranks of tied scores."""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort.ops._core.batching import take
from keras_softsort.ops._core.thresholds import is_at_most
from keras_softsort.ops._core.tracing import is_compiled

# The largest lists that are searched. A graph that was traced without XLA may still be compiled as a part of another
# one: then a search takes 4 bytes per pair of items.
SEARCHED_SIZE = 1000


def inverse(order: tf.Tensor, size: tf.Tensor | None = None) -> tf.Tensor:
    """The rank of each item `[B, size]` in `order` [B, k], or k for an item that is not in it. `size` defaults to k.

    It is a segment sum, which costs less than a second sort. Unlike a scatter, it works under `tf.vectorized_map`.
    """
    batch, count = tf.unstack(tf.shape(order))
    full = size is None
    size = count if full else size
    places = order + size * tf.range(batch)[:, tf.newaxis]
    # An item that is not in the order has the sum 0.
    from_last = tf.broadcast_to(tf.range(count, 0, -1), [batch, count])
    flat = tf.math.unsorted_segment_sum(tf.reshape(from_last, [-1]), tf.reshape(places, [-1]), batch * size)
    ranks = count - tf.reshape(flat, [batch, size])
    return tf.ensure_shape(ranks, order.shape) if full else ranks


def plus_zeros(values: tf.Tensor) -> tf.Tensor:
    """`values` with 0.0 for -0.0, which XLA sorts before 0.0."""
    zero = tf.zeros([], values.dtype)
    return tf.where(tf.equal(values, zero), zero, values)


def tie_groups(sort_keys: tf.Tensor) -> tf.Tensor:
    """The number, from 0, of the group of equal keys at each rank [B, n], for `sort_keys` [B, n] in order."""
    after = tf.concat([sort_keys[:, 1:], sort_keys[:, -1:]], axis=-1)
    # Exclusive, so that the first group is 0 for NaN too, which differs from itself.
    return tf.cumsum(tf.cast(tf.not_equal(sort_keys, after), tf.int32), axis=-1, exclusive=True)


def tied_ranks(sort_keys: tf.Tensor, *, may_search: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
    """The first and the last rank [B, n] with the same key as each rank, for descending `sort_keys` [B, n].

    By counting, in linear time; NaN differs from itself. With `may_search`, for keys without NaN, by binary searches
    where they take less time: not under XLA, whose searches compare all pairs. TF Lite has none, so only losses may
    search.
    """
    if may_search and not is_compiled() and is_at_most(sort_keys.shape[1], SEARCHED_SIZE):
        rising = -sort_keys
        bounds = {"sorted_inputs": rising, "values": rising}
        return tf.raw_ops.LowerBound(**bounds), tf.raw_ops.UpperBound(**bounds) - 1
    shape = tf.shape(sort_keys)
    groups = tie_groups(sort_keys)
    places = groups + shape[1] * tf.range(shape[0])[:, tf.newaxis]
    sizes = tf.reshape(tf.math.unsorted_segment_sum(tf.ones_like(groups), places, shape[0] * shape[1]), shape)
    last = take(tf.cumsum(sizes, axis=-1), groups) - 1
    return last - take(sizes, groups) + 1, last


def mean_ranks(values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """The ranks of `values` [B, n], 1 for the largest. Tied values get the mean of their ranks, masked ones 0."""
    keys = tf.where(mask, values, tf.constant(-math.inf, values.dtype))
    order = tf.argsort(keys, direction="DESCENDING", stable=True)
    first, last = tied_ranks(take(keys, order))
    means = tf.cast(take(first + last, inverse(order)), values.dtype) / 2 + 1
    return tf.where(mask, means, tf.zeros_like(means))
