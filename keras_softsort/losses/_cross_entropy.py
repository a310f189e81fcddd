"""The cross-entropy of soft permutations with where items belong, from the logarithms of their weights."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._targets.lists import Lists
from keras_softsort._targets.true_order import matches


def true_order(lists: Lists, direction: str, ranks: tf.Tensor) -> tf.Tensor:
    """The share of each item in each of the first `ranks` ranks, `[batch, ranks, n]`; tied items share evenly."""
    allowed = tf.cast(matches(lists, direction, ranks), lists.weights.dtype)
    return tf.math.divide_no_nan(allowed, tf.reduce_sum(allowed, axis=2, keepdims=True))


def cross_entropies(lists: Lists, shares: tf.Tensor, log_weights: tf.Tensor) -> tf.Tensor:
    """The mean over each list's ranks of `-sum_j shares_ij w_j log_weights_ij`: [batch]."""
    terms = shares * lists.weights[:, tf.newaxis, :] * log_weights
    ranks = tf.cast(tf.maximum(tf.shape(log_weights)[1], 1), log_weights.dtype)
    return -tf.reduce_sum(terms, axis=[1, 2]) / tf.minimum(lists.sizes(), ranks)
