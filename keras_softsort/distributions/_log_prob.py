"""The log-probability of orders under the Plackett-Luce distribution."""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort.distributions._orders import are_orders
from keras_softsort.ops._core.batching import broadcast_leading, flatten_lists
from keras_softsort.ops._core.permutations import inverse
from keras_softsort.ops.sampling._plackett_luce import choice_log_probs, logsumexp


def log_probs_of(orders: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """The log-probability `[...]` of int32 orders `[..., k]` under `logits` `[..., n]`, as `subtract_max` returns them.

    Leading axes broadcast. Rows of `orders` that repeat an item or hold a number outside 0 to n - 1 get -inf.
    """
    size = tf.shape(logits)[-1]
    possible = are_orders(orders, size)
    items = tf.clip_by_value(orders, 0, tf.maximum(size - 1, 0))
    orders, logits = broadcast_leading([items, logits], [1, 1])
    chosen = tf.gather(logits, orders, batch_dims=orders.shape.rank - 1)
    all_chosen = orders.shape[-1] is not None and orders.shape[-1] == logits.shape[-1]
    others = None if all_chosen else logsumexp(_without(logits, orders))
    result = tf.reduce_sum(choice_log_probs(chosen, others), axis=-1)
    return tf.where(possible, result, tf.constant(-math.inf, result.dtype))


def _without(logits: tf.Tensor, orders: tf.Tensor) -> tf.Tensor:
    """`logits` with -inf for the items of `orders`."""
    ranks = inverse(flatten_lists(orders), tf.shape(logits)[-1])
    chosen = tf.reshape(ranks, tf.shape(logits)) < tf.shape(orders)[-1]
    return tf.where(chosen, tf.constant(-math.inf, logits.dtype), logits)
