"""Samples of orders without replacement, and the weight of each order in an unbiased estimate (Kool et al.).

The key of an order is its log-probability plus Gumbel noise, and the orders with the largest keys are a sample without
replacement. The keys of all n! orders are never computed. A beam search walks the tree of prefixes from the top: the
key of a prefix is the largest key of the orders that start with it.
"""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort.distributions._quadrature import quadrature
from keras_softsort.ops._core import gumbel_noise


def draw_orders(logits: tf.Tensor, length: int, num_samples: int, seed: tf.Tensor) -> tf.Tensor:
    """Draw `num_samples` distinct orders of `length` items, by decreasing keys: int32 `[B, num_samples, length]`.

    `logits` are float64 `[B, n]` and finite.
    """
    batch, size = (known or found for known, found in zip(logits.shape, tf.unstack(tf.shape(logits)), strict=True))
    first_only = tf.one_hot(0, num_samples, on_value=0.0, off_value=-math.inf, dtype=tf.float64)
    start = tf.zeros([batch, 1], tf.float64) + first_only
    orders = tf.zeros([batch, num_samples, length], tf.int32)
    taken = tf.zeros([batch, num_samples, size], tf.bool)

    def extend(
        place: tf.Tensor, orders: tf.Tensor, taken: tf.Tensor, log_probs: tf.Tensor, keys: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        remaining = tf.where(taken, tf.constant(-math.inf, tf.float64), logits[:, tf.newaxis])
        longer = log_probs[..., tf.newaxis] + tf.nn.log_softmax(remaining)
        noise = gumbel_noise.gumbel(tf.shape(longer), tf.random.experimental.stateless_fold_in(seed, place), tf.float64)
        longer_keys = _given_maximum(longer + noise, keys)
        keys, index = tf.math.top_k(tf.reshape(longer_keys, [batch, num_samples * size]), num_samples)
        beam, item = index // size, index % size
        log_probs = tf.gather(tf.reshape(longer, [batch, num_samples * size]), index, batch_dims=1)
        orders = tf.gather(orders, beam, batch_dims=1)
        orders = tf.where(tf.equal(tf.range(length), place), item[..., tf.newaxis], orders)
        taken = tf.gather(taken, beam, batch_dims=1)
        taken = tf.logical_or(taken, tf.equal(tf.range(size), item[..., tf.newaxis]))
        return place + 1, orders, taken, log_probs, keys

    _, orders, *_ = tf.while_loop(
        lambda place, *_: place < length, extend, (0, orders, taken, start, start), maximum_iterations=length
    )
    return orders


def _given_maximum(keys: tf.Tensor, maximum: tf.Tensor) -> tf.Tensor:
    """Condition independent Gumbel keys `[..., n]` on having the largest key `maximum` `[...]`."""
    largest = tf.reduce_max(keys, axis=-1, keepdims=True)
    possible = tf.logical_and(keys > -math.inf, maximum[..., tf.newaxis] > -math.inf)
    keys, largest = (tf.where(possible, value, tf.zeros_like(keys)) for value in (keys, largest))
    top = tf.where(possible, maximum[..., tf.newaxis], tf.zeros_like(keys))
    # -log(exp(-top) - exp(-largest) + exp(-key)) without overflow (Kool et al. 2019, appendix B.3).
    v = top - keys + _log1mexp(keys - largest)
    moved = top - tf.nn.relu(v) - tf.math.log1p(tf.exp(-tf.abs(v)))
    return tf.where(possible, moved, tf.constant(-math.inf, keys.dtype))


def _log1mexp(x: tf.Tensor) -> tf.Tensor:
    """`log(1 - exp(x))` for x <= 0; -inf at 0."""
    return tf.where(x > -math.log(2), tf.math.log(-tf.math.expm1(x)), tf.math.log1p(-tf.exp(x)))


def set_weights(log_probs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Weights of the members of a sample without replacement, from their log-probabilities `[S, ...]` float64.

    The first result `[S, ...]` has the weights of an unbiased sum over the members: the unordered set estimator of
    Kool et al. 2020, p(s) times the leave-one-out ratio. Row i of the second result `[S, S, ...]` has the weights of
    the same sum given that member i was drawn first. That sum is a baseline for member i.
    """
    possible = log_probs > -math.inf
    log_rest = _log1mexp(tf.minimum(tf.reduce_logsumexp(log_probs, axis=0), 0.0))
    log_ratios = tf.where(possible, log_probs, tf.zeros_like(log_probs)) - log_rest  # +inf if no other order is left
    nodes, log_weights = quadrature(log_probs.shape[0])
    # The log-probability that a member comes before a node's time. Members that cannot be drawn add nothing.
    exponents = nodes + log_ratios[..., tf.newaxis]
    before = _log1mexp(-tf.exp(tf.clip_by_value(exponents, -40.0, 7.0)))
    before = tf.where(exponents < -40, exponents, before)  # equal to float precision, where the exp underflows
    before = tf.where(possible[..., tf.newaxis], before, tf.zeros_like(before))
    total = tf.reduce_sum(before, axis=0) + log_weights

    def integral(without: tf.Tensor) -> tf.Tensor:
        return tf.reduce_logsumexp(total - without, axis=-1)

    whole, without_one = integral(tf.zeros_like(before[0])), integral(before)
    without_two = integral(before[:, tf.newaxis] + before)
    weights = tf.exp(log_probs + without_one - whole)
    given_first = tf.exp(log_probs + without_two - without_one[:, tf.newaxis])
    same = tf.reshape(tf.eye(tf.shape(log_probs)[0], dtype=tf.bool), _square(log_probs))
    return weights, tf.where(same, tf.exp(log_probs), given_first)


def _square(log_probs: tf.Tensor) -> tf.Tensor:
    """The shape [S, S, 1, ...] of an identity matrix that broadcasts against the weights."""
    count = tf.shape(log_probs)[:1]
    return tf.concat([count, count, tf.ones([log_probs.shape.rank - 1], tf.int32)], axis=0)
