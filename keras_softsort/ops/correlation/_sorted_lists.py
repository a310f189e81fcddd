"""Lists with their valid items first, their stable order and their ties. Values may be infinite."""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort.ops._core.lists import inverse, take, tied_ranks


def valid_first(values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Move the valid `values` [batch, n] to the front, in their order, and fill the rest with -inf.

    A stable descending sort then leaves masked items behind all valid ones, even behind a valid -inf.
    """
    is_valid = tf.cast(mask, tf.int32)
    count = tf.reduce_sum(is_valid, axis=-1, keepdims=True)
    before = tf.cumsum(is_valid, axis=-1, exclusive=True)
    index = tf.range(tf.shape(values)[1])
    position = tf.where(mask, before, count + index - before)
    # Turn -0 into 0. A compiler might remove the addition of 0.
    values = tf.where(tf.equal(values, 0), tf.zeros_like(values), values)
    filled = tf.where(mask, values, tf.constant(-math.inf, values.dtype))
    return take(filled, inverse(position))


def descending_order(values: tf.Tensor) -> tf.Tensor:
    """The item at each rank [batch, n]. Equal values keep their order."""
    return tf.argsort(values, direction="DESCENDING", stable=True)


def valid_ties(sort_keys: tf.Tensor, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The first and the last valid rank [batch, n] with the same key as each rank, for descending `sort_keys`.

    The first `count` [batch, 1] ranks are valid. For the other ranks both results are equal.
    """
    first, last = tied_ranks(sort_keys)
    last = tf.minimum(last, count - 1)
    return tf.minimum(first, last), last
