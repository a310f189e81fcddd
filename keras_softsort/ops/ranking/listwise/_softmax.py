"""The cost of choosing each item from all items of its list: minus the logarithm of a masked softmax."""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort.ops.ranking._lists import RankingLists
from keras_softsort.ops.sampling._plackett_luce import logsumexp


def softmax_costs(lists: RankingLists, temperature: float) -> tf.Tensor:
    """`logsumexp(s / temperature) - s_i / temperature` over the valid items: `[B, n]`, 0 where masked."""
    minus_infinity = tf.constant(-math.inf, lists.scores.dtype)
    peak = tf.stop_gradient(tf.reduce_max(tf.where(lists.mask, lists.scores, minus_infinity), axis=-1, keepdims=True))
    # Only differences matter, and relative to the largest score they keep their precision.
    below = (lists.scores - tf.where(tf.math.is_inf(peak), tf.zeros_like(peak), peak)) / temperature
    total = logsumexp(tf.where(lists.mask, below, minus_infinity))
    return tf.where(lists.mask, total[:, tf.newaxis] - below, tf.zeros_like(below))


def weighted_sum(costs: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """The sum [B] of `weights * costs`, where a cost with weight 0 counts 0 even if it is infinite."""
    return tf.reduce_sum(tf.math.multiply_no_nan(costs, weights), axis=-1)
