"""The probability that each item is among the first k, as an integral over its Gumbel key."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.distributions._quadrature import quadrature


def top_k_probabilities(logits: tf.Tensor, count: int) -> tf.Tensor:
    """P(fewer than `count` other items have a larger key) for each item, from float64 `logits` `[..., n]`.

    Given an item's key, each other item is above it independently. A recursion over the other items gives the
    distribution of how many are above. Items with a logit of -inf have probability 0. The result is float64 `[..., n]`.
    """
    possible = logits > -float("inf")
    finite = tf.where(possible, logits, tf.zeros_like(logits))
    size, (nodes, log_weights) = tf.shape(logits)[-1], quadrature(count)
    item = tf.range(size)
    # [..., item, node, number of others that are above the item]
    none = tf.one_hot(0, count, dtype=tf.float64)
    shares = tf.zeros(tf.concat([tf.shape(logits), tf.shape(nodes), [count]], axis=0), tf.float64) + none

    def add(other: tf.Tensor, shares: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        gap = tf.gather(finite, [other], axis=-1) - finite
        counts = tf.logical_and(tf.gather(possible, [other], axis=-1), tf.not_equal(item, other))
        above = -tf.math.expm1(-tf.exp(tf.minimum(nodes + gap[..., tf.newaxis], LARGEST_EXPONENT)))
        above = tf.where(counts[..., tf.newaxis], above, tf.zeros_like(above))[..., tf.newaxis]
        one_more = tf.concat([tf.zeros_like(shares[..., :1]), shares[..., :-1]], axis=-1)
        return other + 1, shares * (1 - above) + one_more * above

    _, shares = tf.while_loop(lambda other, _: other < size, add, (0, shares), maximum_iterations=size)
    fewer = tf.reduce_sum(shares, axis=-1)
    total = tf.reduce_sum(tf.exp(log_weights) * fewer, axis=-1)
    return tf.where(possible, tf.clip_by_value(total, 0, 1), tf.zeros_like(total))


# exp(exp(7)) is already infinite; a larger exponent would only overflow the gradient.
LARGEST_EXPONENT = 7.0
