"""Projections onto the memberships in the k largest: the permutahedron of k ones and zeros.

The scores z are divided by tau, relative to the k-th largest, in the working dtype. The items with membership 0 or 1
are found without a gradient, and the memberships of the others differentiably.
"""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.core.decay_scan import laplace_sums
from keras_softsort.ops.core.order import take
from keras_softsort.ops.sorting._ordering import OrderedLists

# The threshold lies between -2 and 0. So many halvings leave an interval of float64's resolution.
NUM_HALVINGS = 52


def projected_membership(lists: OrderedLists, k: tf.Tensor, entropic: bool) -> tf.Tensor:
    """`clip(z_i - b, 0, 1)`, or with `entropic` `min(exp(z_i - b), 1)`, where b makes them sum to k: [L, n]."""
    positions, valid = lists.positions(tf.minimum(k, lists.valid_counts()) - 1)
    shares = _entropic_shares(-positions, valid, k) if entropic else _shares(-positions, valid, k)
    return take(lists.completed_membership(shares, positions, valid, k), lists.ranks)


def _shares(z: tf.Tensor, valid: tf.Tensor, k: tf.Tensor) -> tf.Tensor:
    """`clip(z_i - b, 0, 1)` of sorted z [L, n]."""
    # Scores beyond these bounds have membership 0 or 1 for every possible threshold.
    z = tf.where(valid, tf.clip_by_value(z, -2, 1), tf.constant(-2, z.dtype))
    held, k = tf.stop_gradient(z), tf.cast(k, z.dtype)

    def halve(count: tf.Tensor, low: tf.Tensor, high: tf.Tensor) -> tuple[tf.Tensor, ...]:
        middle = (low + high) / 2
        is_low = tf.reduce_sum(tf.clip_by_value(held - middle, 0, 1), axis=1, keepdims=True) > k
        return count + 1, tf.where(is_low, middle, low), tf.where(is_low, high, middle)

    low = tf.fill([tf.shape(z)[0], 1], tf.constant(-2, z.dtype))
    start = (tf.constant(0), low, tf.zeros_like(low))
    _, low, high = tf.while_loop(lambda count, *_: count < NUM_HALVINGS, halve, start, maximum_iterations=NUM_HALVINGS)
    ahead = held - (low + high) / 2
    is_one = ahead >= 1
    is_between = tf.logical_and(ahead > 0, tf.logical_not(is_one))
    ones, between = (tf.cast(each, z.dtype) for each in (is_one, is_between))
    left = k - tf.reduce_sum(ones, axis=1, keepdims=True)
    number = tf.maximum(tf.reduce_sum(between, axis=1, keepdims=True), 1)
    threshold = (tf.reduce_sum(between * z, axis=1, keepdims=True) - left) / number
    return tf.where(is_between, tf.clip_by_value(z - threshold, 0, 1), ones)


def _entropic_shares(z: tf.Tensor, valid: tf.Tensor, k: tf.Tensor) -> tf.Tensor:
    """`min(exp(z_i - b), 1)` of sorted z [L, n]: 1 for the first items, and for the others a softmax times the rest."""
    held, k = tf.stop_gradient(z), tf.cast(k, z.dtype)
    _, sums = laplace_sums(-held, tf.cast(valid, z.dtype)[:, tf.newaxis])
    ranks = tf.cast(tf.range(tf.shape(z)[1]), z.dtype)
    is_one = tf.logical_and(valid, sums[:, 0] < k - ranks)
    ones = tf.cast(is_one, z.dtype)
    left = k - tf.reduce_sum(ones, axis=1, keepdims=True)
    others = tf.nn.softmax(tf.where(tf.logical_or(is_one, tf.logical_not(valid)), tf.constant(z.dtype.min, z.dtype), z))
    return tf.where(is_one, ones, left * others)
