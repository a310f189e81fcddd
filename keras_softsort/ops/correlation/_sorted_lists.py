"""Lists with their valid items first, their stable order and their ties; infinite values are ordered, too."""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort.ops._core.batching import take
from keras_softsort.ops._core.permutations import inverse, tied_ranks


def valid_first(values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """`values` [batch, n] with the valid ones moved to the front in their order, and -inf behind them.

    In a stable descending sort the items that are not valid then stay behind all others, even behind -inf.
    """
    is_valid = tf.cast(mask, tf.int32)
    count = tf.reduce_sum(is_valid, axis=-1, keepdims=True)
    before = tf.cumsum(is_valid, axis=-1, exclusive=True)
    index = tf.range(tf.shape(values)[1])
    position = tf.where(mask, before, count + index - before)
    # Adding 0 makes no 0 of -0 where a compiler removes it.
    values = tf.where(tf.equal(values, 0), tf.zeros_like(values), values)
    filled = tf.where(mask, values, tf.constant(-math.inf, values.dtype))
    return take(filled, inverse(position))


def descending_order(values: tf.Tensor) -> tf.Tensor:
    """The item at each rank [batch, n]; of equal values the first comes first."""
    return tf.argsort(values, direction="DESCENDING", stable=True)


def valid_ties(sort_keys: tf.Tensor, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The first and the last rank [batch, n] among the first `count` [batch, 1] with the key that each rank has.

    `sort_keys` [batch, n] are descending. Ranks from `count` on are not valid and get equal numbers.
    """
    first, last = tied_ranks(sort_keys)
    last = tf.minimum(last, count - 1)
    return tf.minimum(first, last), last
