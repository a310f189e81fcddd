"""Orders of the items of a list: sorted by keys, checked, enumerated and counted."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort.ops._core.lists import descending, flatten_lists, inverse, take


def order_by(keys: tf.Tensor, mask: tf.Tensor | None, count: int) -> tf.Tensor:
    """The int32 items `[..., count]` with the largest keys; of equal keys, the first item comes first.

    Items with a key of -inf come after all other valid items, and masked items come last.
    """
    keys = tf.maximum(keys, keys.dtype.min)
    if mask is not None:
        keys = tf.where(mask, keys, tf.constant(-math.inf, keys.dtype))
    if keys.shape[-1] is None or count != keys.shape[-1]:
        return tf.math.top_k(keys, count).indices
    return tf.reshape(descending(flatten_lists(keys))[1], tf.shape(keys))


def are_orders(orders: tf.Tensor, size: Any) -> tf.Tensor:
    """Whether int32 `orders` `[..., k]` hold items from 0 to size - 1, each at most once: bool `[...]`."""
    is_item = tf.logical_and(orders >= 0, orders < size)
    flat = flatten_lists(tf.where(is_item, orders, tf.zeros_like(orders)))
    # `inverse` adds up the ranks of an item that occurs twice, and the sum differs from both ranks.
    ranks = tf.reshape(take(inverse(flat, size), flat), tf.shape(orders))
    return tf.reduce_all(tf.logical_and(is_item, tf.equal(ranks, tf.range(tf.shape(orders)[-1]))), axis=-1)


def as_int32(orders: tf.Tensor) -> tf.Tensor:
    """Integers as int32. A number beyond int32 becomes its largest or smallest one, which is no item either."""
    if orders.dtype.max > tf.int32.max:
        orders = tf.minimum(orders, tf.constant(tf.int32.max, orders.dtype))
    if orders.dtype.min < tf.int32.min:
        orders = tf.maximum(orders, tf.constant(tf.int32.min, orders.dtype))
    return tf.cast(orders, tf.int32)


@functools.lru_cache(maxsize=8)
def all_orders(size: int, count: int) -> np.ndarray:
    """Every order of `count` of `size` items: `[orders, count]` int32."""
    return np.array(list(itertools.permutations(range(size), count)), np.int32).reshape(math.perm(size, count), count)


def log_possible_orders(possible: tf.Tensor, count: int) -> tf.Tensor:
    """The log of the number of possible orders `[...]`; orders that differ only in impossible items count once."""
    chosen = tf.reduce_sum(tf.cast(possible, tf.float64), axis=-1)
    return tf.math.lgamma(chosen + 1) - tf.math.lgamma(tf.maximum(chosen - tf.cast(count, tf.float64), 0) + 1)
