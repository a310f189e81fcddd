"""The expected reward of Plackett-Luce orders, from samples, with PL-Rank's gradient."""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort.ops._core.batching import flatten_lists, take
from keras_softsort.ops._core.permutations import inverse
from keras_softsort.ops.sampling._plackett_luce import logsumexp, subtract_max, suffix_logsumexp


def expected_reward(
    keys: tf.Tensor, logits: tf.Tensor, mask: tf.Tensor, rewards: tf.Tensor, rank_weights: tf.Tensor
) -> tf.Tensor:
    """The mean over samples of `sum_{i < k} rank_weights_i rewards_{z_i}`, where z is the order of the keys: `[batch]`.

    `keys` `[samples, batch, n]` are `logits` `[batch, n]` plus Gumbel noise. `rank_weights` are `[k]` with k <= n.
    `rewards` are `[batch, n]`, 0 where masked. Rewards and rank weights must not be negative.
    """
    shape, minus_infinity = tf.shape(keys), tf.constant(-math.inf, keys.dtype)
    count = rank_weights.shape[0] or tf.shape(rank_weights)[0]
    orders = flatten_lists(tf.math.top_k(tf.where(mask, keys, minus_infinity), count).indices)
    every_reward = flatten_lists(tf.broadcast_to(rewards, shape))

    def mean(values: tf.Tensor) -> tf.Tensor:
        """The mean over the samples of each list."""
        return tf.reduce_mean(tf.reshape(values, tf.concat([shape[:2], tf.shape(values)[1:]], axis=0)), axis=0)

    @tf.custom_gradient
    def estimate(logits: tf.Tensor) -> tuple:
        value = mean(tf.linalg.matvec(take(every_reward, orders), rank_weights))

        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            relative = subtract_max(tf.where(mask, logits, minus_infinity))
            every_score = flatten_lists(tf.broadcast_to(relative, shape))
            found = mean(reward_gradients(every_score, orders, every_reward, rank_weights))
            return upstream[:, tf.newaxis] * tf.cast(found, upstream.dtype)

        return value, gradient

    return estimate(logits)


def reward_gradients(logits: tf.Tensor, orders: tf.Tensor, rewards: tf.Tensor, rank_weights: tf.Tensor) -> tf.Tensor:
    """PL-Rank's estimate of the gradient of the expected reward, from each of `orders` `[lists, k]`.

    The estimate for item d is `later_{r + 1} + sum_{i <= min(r, k)} exp(s_d) / Z_i (w_i rewards_d - later_i)`. r is
    the rank of d, or k if d is not among the first k. Z_i is the sum of exp(logit) over the items that are left at
    rank i. `later_i = sum_{j >= i} w_j rewards_{z_j}` is the reward from rank i on. Both sums over i are prefix sums.
    They are computed from logarithms, since 1 / Z overflows for logits of a wide range. `logits` are the result
    of `subtract_max`. The result is float64 `[lists, n]`.
    """
    rewards, rank_weights = tf.cast(rewards, tf.float64), tf.cast(rank_weights, tf.float64)
    count = orders.shape[-1] or tf.shape(orders)[-1]
    ranks = inverse(orders, tf.shape(logits)[-1])
    minus_infinity = tf.constant(-math.inf, tf.float64)
    unchosen = logsumexp(tf.where(ranks < count, minus_infinity, logits))
    remaining = tf.concat([take(logits, orders), unchosen[:, tf.newaxis]], axis=-1)
    normalizers = suffix_logsumexp(remaining)[:, :count]
    later = tf.cumsum(take(rewards, orders) * rank_weights, axis=-1, reverse=True)
    # No items are left beyond the end of a list.
    ended = tf.equal(normalizers, -math.inf)
    normalizers = tf.where(ended, tf.zeros_like(normalizers), normalizers)

    def up_to_rank(terms: tf.Tensor) -> tf.Tensor:
        """exp(s_d) times the sum of `terms / Z` up to the rank of d: [lists, n]."""
        summed = _prefix_logsumexp(tf.where(ended, minus_infinity, tf.math.log(terms) - normalizers))
        return tf.exp(logits + take(summed, tf.minimum(ranks, count - 1)))

    after = take(tf.pad(later, [[0, 0], [0, 2]]), ranks + 1)
    return after + rewards * up_to_rank(tf.zeros_like(later) + rank_weights) - up_to_rank(later)


def _prefix_logsumexp(values: tf.Tensor) -> tf.Tensor:
    peak = tf.reduce_max(values, axis=-1, keepdims=True)
    peak = tf.where(tf.math.is_inf(peak), tf.zeros_like(peak), peak)
    return peak + tf.reverse(suffix_logsumexp(tf.reverse(values - peak, [-1])), [-1])
