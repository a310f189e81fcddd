"""The log-probability of orders under the Plackett-Luce distribution."""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort.distributions._orders import ranks_in_orders
from keras_softsort.ops._core.lists import broadcast_leading, flatten_lists, inverse, is_at_most, take
from keras_softsort.ops.sampling._choice_costs import FLOAT32_SIZE, OrderedChoices, choice_costs


def log_probs_of(orders: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """The log-probability `[...]` of int32 orders `[..., k]` under `logits` `[..., n]`.

    Leading axes broadcast. Rows of `orders` that repeat an item or hold a number outside 0 to n - 1 get -inf.
    """
    orders, logits = broadcast_leading([orders, logits], [1, 1])
    wide = logits if is_at_most(logits.shape[-1], FLOAT32_SIZE) else tf.cast(logits, tf.float64)
    result = _of_lists(flatten_lists(orders), flatten_lists(wide))
    return result if orders.shape.rank == 2 else tf.reshape(result, tf.shape(orders)[:-1])


def _of_lists(orders: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Compute the log-probabilities [B] of orders [B, k]. Items that are not in them come last, with a weight of 0."""
    size, count, weights = tf.shape(logits)[1], tf.shape(orders)[1], None
    ranks, are_valid = ranks_in_orders(orders, size)
    if orders.shape[1] is None or orders.shape[1] != logits.shape[1]:
        is_missing = ranks >= count
        last = count - 1 + tf.cumsum(tf.cast(is_missing, tf.int32), axis=1)
        orders = inverse(tf.clip_by_value(tf.where(is_missing, last, ranks), 0, size - 1))
        weights = tf.broadcast_to(tf.cast(tf.range(size) < count, logits.dtype), tf.shape(logits))
    # Orders that are not valid are kept in range.
    in_order = take(logits, tf.clip_by_value(orders, 0, size - 1))
    costs = choice_costs(in_order, weights, OrderedChoices())
    return tf.where(are_valid, -costs, tf.constant(-math.inf, costs.dtype))
