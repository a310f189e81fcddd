"""The log-probability of orders under the Plackett-Luce distribution."""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort.ops._core.lists import broadcast_leading, flatten_lists, is_at_most
from keras_softsort.ops.sampling._choice_costs import FLOAT32_SIZE, OrderedChoices, choice_costs

NOWHERE = -1  # which sums of segments drop


def log_probs_of(orders: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """The log-probability `[...]` of int32 orders `[..., k]` under `logits` `[..., n]`.

    Leading axes broadcast. Rows of `orders` that repeat an item or hold a number outside 0 to n - 1 get -inf.
    """
    orders, logits = broadcast_leading([orders, logits], [1, 1])
    wide = logits if is_at_most(logits.shape[-1], FLOAT32_SIZE) else tf.cast(logits, tf.float64)
    result = _of_lists(flatten_lists(orders), flatten_lists(wide))
    return result if orders.shape.rank == 2 else tf.reshape(result, tf.shape(orders)[:-1])


def _of_lists(orders: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """The log-probabilities [B] of orders [B, k]. Items that are not in them come last, with a weight of 0."""
    batch, size = tf.unstack(tf.shape(logits))
    count, weights = tf.shape(orders)[1], None
    starts = size * tf.range(batch)[:, tf.newaxis]
    # Places in all lists: those of the items of the orders, and in the orders those of the items.
    is_item = tf.logical_and(orders >= 0, orders < size)
    places = tf.where(is_item, starts + orders, NOWHERE)
    ranks = _inverse(places, starts + tf.range(count), logits)
    is_order = tf.reduce_all(ranks >= 0, axis=1)
    if orders.shape[1] is None or orders.shape[1] != logits.shape[1]:
        missing = tf.cast(ranks < 0, tf.int32)
        is_order = tf.equal(tf.reduce_sum(missing, axis=1), size - count)
        last = count - 1 + tf.cumsum(missing, axis=1)
        ranks = tf.where(ranks < 0, starts + tf.minimum(last, size - 1), ranks)
        places = _inverse(ranks, starts + tf.range(size), logits)
        weights = tf.broadcast_to(tf.cast(tf.range(size) < count, logits.dtype), tf.shape(logits))

    # The gradient is gathered too, which under XLA takes less time than to scatter it.
    @tf.custom_gradient
    def in_order(values: tf.Tensor) -> tuple:
        return _gather(values, places), lambda upstream: _gather(upstream, ranks)

    costs = choice_costs(in_order(logits), weights, OrderedChoices())
    return tf.where(is_order, -costs, tf.constant(-math.inf, costs.dtype))


def _inverse(places: tf.Tensor, values: tf.Tensor, lists: tf.Tensor) -> tf.Tensor:
    """The values of each place in the `lists` [B, n]; a number below 0 if it has none."""
    return tf.reshape(tf.math.unsorted_segment_max(values, places, tf.size(lists)), tf.shape(lists))


def _gather(values: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
    """The values at places in all lists `[B, n]`; any of them for places below 0."""
    return tf.gather(tf.reshape(values, [-1]), tf.maximum(places, 0))
