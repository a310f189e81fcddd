"""Samples of orders without replacement, the weight of each in an unbiased estimate, and marginal probabilities.

The key of an order is its log-probability plus Gumbel noise, and the orders with the largest keys are a sample without
replacement (Kool et al.). A beam search finds them: the key of a prefix is the largest of its orders.
"""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from keras_softsort.ops.core import gumbel_noise

# Weights and marginal probabilities are integrals over an exponential time t = exp(-G), for a Gumbel key G of location
# 0: a key of location b is below G with probability exp(-t exp(b)). In x = log t the integrand is analytic in a strip
# of half width pi / 2, so the error of the trapezoidal rule is about exp(-pi^2 / STEP) = 5e-15. The integral below the
# first node is less than exp(-36) = 2e-16. An integrand that counts `count` keys has features as narrow as 1 /
# sqrt(count), and a peak at t = count if the keys are improbable.
STEP, FIRST = 0.3, -36.0
# exp(exp(7)) is already infinite; a larger exponent would only overflow the gradient.
MAX_EXPONENT = 7.0


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
    is_allowed = tf.logical_and(keys > -math.inf, maximum[..., tf.newaxis] > -math.inf)
    keys, largest = (tf.where(is_allowed, value, tf.zeros_like(keys)) for value in (keys, largest))
    top = tf.where(is_allowed, maximum[..., tf.newaxis], tf.zeros_like(keys))
    # -log(exp(-top) - exp(-largest) + exp(-key)) without overflow (Kool et al. 2019, appendix B.3).
    v = top - keys + tfp.math.log1mexp(keys - largest)
    moved = top - tf.nn.relu(v) - tf.math.log1p(tf.exp(-tf.abs(v)))
    return tf.where(is_allowed, moved, tf.constant(-math.inf, keys.dtype))


def set_weights(log_probs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Weights of the members of a sample without replacement, from their log-probabilities `[S, ...]` float64.

    The first result `[S, ...]` has the weights of an unbiased sum over the members: the unordered set estimator of Kool
    et al. 2020, p(s) times the leave-one-out ratio. Row i of the second one `[S, S, ...]` has them given that member i
    was drawn first: a baseline.
    """
    is_allowed = log_probs > -math.inf
    log_rest = tfp.math.log1mexp(tf.minimum(tf.reduce_logsumexp(log_probs, axis=0), 0.0))
    log_ratios = tf.where(is_allowed, log_probs, tf.zeros_like(log_probs)) - log_rest  # +inf if no other order is left
    nodes, log_weights = _quadrature(log_probs.shape[0])
    # The log-probability that a member comes before a node's time. Members that cannot be drawn add nothing.
    exponents = nodes + log_ratios[..., tf.newaxis]
    before = tfp.math.log1mexp(-tf.exp(tf.clip_by_value(exponents, -40.0, 7.0)))
    before = tf.where(exponents < -40, exponents, before)  # equal to float precision, where the exp underflows
    before = tf.where(is_allowed[..., tf.newaxis], before, tf.zeros_like(before))
    total = tf.reduce_sum(before, axis=0) + log_weights

    def integral(without: tf.Tensor) -> tf.Tensor:
        return tf.reduce_logsumexp(total - without, axis=-1)

    whole, without_one = integral(tf.zeros_like(before[0])), integral(before)
    without_two = integral(before[:, tf.newaxis] + before)
    weights = tf.exp(log_probs + without_one - whole)
    given_first = tf.exp(log_probs + without_two - without_one[:, tf.newaxis])
    count = log_probs.shape[0]
    same = np.eye(count, dtype=bool).reshape(count, count, *[1] * (log_probs.shape.rank - 1))
    return weights, tf.where(same, tf.exp(log_probs), given_first)


def expected_rank_weights(logits: tf.Tensor, rank_weights: tf.Tensor) -> tf.Tensor:
    """The sum of the `rank_weights` [k] of the ranks, times the probability of the item at that rank: [..., n].

    Given an item's key, each other item is above it independently. A recursion over the other items of float64 `logits`
    gives the distribution of how many are above. Items with a logit of -inf have no rank.
    """
    count = tf.size(rank_weights) if rank_weights.shape[0] is None else rank_weights.shape[0]
    is_allowed = logits > -float("inf")
    finite = tf.where(is_allowed, logits, tf.zeros_like(logits))
    size, (nodes, log_weights) = tf.shape(logits)[-1], _quadrature(count)
    item = tf.range(size)
    # [..., item, node, number of others that are above the item]
    none = tf.one_hot(0, count, dtype=tf.float64)
    shares = tf.zeros(tf.concat([tf.shape(logits), tf.shape(nodes), [count]], axis=0), tf.float64) + none

    def add(other: tf.Tensor, shares: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        is_other = tf.equal(item, other)
        gap = tf.reduce_sum(tf.where(is_other, finite, tf.zeros_like(finite)), axis=-1, keepdims=True) - finite
        counts = tf.reduce_any(tf.logical_and(is_other, is_allowed), axis=-1, keepdims=True)
        counts = tf.logical_and(counts, tf.logical_not(is_other))
        above = -tf.math.expm1(-tf.exp(tf.minimum(nodes + gap[..., tf.newaxis], MAX_EXPONENT)))
        above = tf.where(counts[..., tf.newaxis], above, tf.zeros_like(above))[..., tf.newaxis]
        one_more = tf.concat([tf.zeros_like(shares[..., :1]), shares[..., :-1]], axis=-1)
        return other + 1, shares * (1 - above) + one_more * above

    _, shares = tf.while_loop(lambda other, _: other < size, add, (0, shares), maximum_iterations=size)
    total = tf.reduce_sum(tf.exp(log_weights) * tf.linalg.matvec(shares, rank_weights), axis=-1)
    return tf.where(is_allowed, total, tf.zeros_like(total))


def _quadrature(count: int | tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The nodes log t and their log weights for the integral of `exp(-t) g(t)`, where g counts up to `count` keys."""
    count = tf.cast(count, tf.float64)
    step = STEP / tf.sqrt(1 + count / 2)
    log_times = tf.range(FIRST, tf.math.log(90 + 3 * count), step)
    return log_times, log_times - tf.exp(log_times) + tf.math.log(step)
