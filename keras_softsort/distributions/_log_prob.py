"""The log-probability of orders: broadcast, gathered, and what is never chosen summed up."""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort.ops._core.batching import flatten_lists
from keras_softsort.ops._core.permutations import inverse
from keras_softsort.ops.sampling._plackett_luce import choice_log_probs, logsumexp


def log_probs_of(orders: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
    """Of orders `[..., k]` under log-scores `[..., n]` that are `subtract_max`, leading axes broadcast: `[...]`."""
    leading = tf.broadcast_dynamic_shape(tf.shape(scores)[:-1], tf.shape(orders)[:-1])
    known_leading = tf.broadcast_static_shape(scores.shape[:-1], orders.shape[:-1])
    orders, scores = (
        tf.ensure_shape(
            tf.broadcast_to(each, tf.concat([leading, tf.shape(each)[-1:]], axis=0)),
            known_leading.concatenate(each.shape[-1:]),
        )
        for each in (orders, scores)
    )
    chosen = tf.gather(scores, orders, batch_dims=known_leading.rank)
    all_chosen = orders.shape[-1] is not None and orders.shape[-1] == scores.shape[-1]
    others = None if all_chosen else logsumexp(_without(scores, orders))
    return tf.reduce_sum(choice_log_probs(chosen, others), axis=-1)


def _without(scores: tf.Tensor, orders: tf.Tensor) -> tf.Tensor:
    """`scores`, -inf for the items of `orders`."""
    ranks = inverse(flatten_lists(orders), tf.shape(scores)[-1])
    chosen = tf.reshape(ranks, tf.shape(scores)) < tf.shape(orders)[-1]
    return tf.where(chosen, tf.constant(-math.inf, scores.dtype), scores)
