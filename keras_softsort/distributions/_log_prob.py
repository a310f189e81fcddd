"""The log-probability of orders under the Plackett-Luce distribution."""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort.distributions._orders import are_orders
from keras_softsort.ops._core.batching import broadcast_leading, flatten_lists, take
from keras_softsort.ops._core.permutations import inverse
from keras_softsort.ops._core.thresholds import is_at_most
from keras_softsort.ops.sampling._choice_costs import Sequence, choice_costs
from keras_softsort.ops.sampling._plackett_luce import choice_log_probs, logsumexp, subtract_max

# Up to this many items sums of float32 lose no digits that matter.
FLOAT32_SIZE = 1000


def log_probs_of(orders: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """The log-probability `[...]` of int32 orders `[..., k]` under `logits` `[..., n]`.

    Leading axes broadcast. Rows of `orders` that repeat an item or hold a number outside 0 to n - 1 get -inf.
    """
    size = logits.shape[-1] or tf.shape(logits)[-1]
    possible = are_orders(orders, size)
    items = tf.where(tf.logical_and(orders >= 0, orders < size), orders, 0)
    items, logits = broadcast_leading([items, logits], [1, 1])
    if items.shape[-1] is not None and items.shape[-1] == logits.shape[-1]:
        result = _of_full_orders(items, logits)
    else:
        logits = subtract_max(logits)
        chosen = tf.gather(logits, items, batch_dims=items.shape.rank - 1)
        result = tf.reduce_sum(choice_log_probs(chosen, logsumexp(_without(logits, items))), axis=-1)
    return tf.where(possible, result, tf.constant(-math.inf, result.dtype))


def _of_full_orders(orders: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    wide = logits if is_at_most(logits.shape[-1], FLOAT32_SIZE) else tf.cast(logits, tf.float64)
    chosen = take(flatten_lists(wide), flatten_lists(orders))
    costs = choice_costs(chosen, tf.ones_like(chosen), Sequence(None))
    return -(costs if orders.shape.rank == 2 else tf.reshape(costs, tf.shape(orders)[:-1]))


def _without(logits: tf.Tensor, orders: tf.Tensor) -> tf.Tensor:
    """`logits` with -inf for the items of `orders`."""
    ranks = inverse(flatten_lists(orders), tf.shape(logits)[-1])
    chosen = tf.reshape(ranks, tf.shape(logits)) < tf.shape(orders)[-1]
    return tf.where(chosen, tf.constant(-math.inf, logits.dtype), logits)
