"""The true order of the labels, and the cross-entropy of soft permutations with it."""

from __future__ import annotations

import math

import tensorflow as tf


def sorted_labels(labels: tf.Tensor, mask: tf.Tensor, direction: str) -> tf.Tensor:
    """Sort `labels` [B, n], with masked ones last as plus or minus infinity."""
    sign = 1 if direction == "DESCENDING" else -1
    keys = tf.where(mask, sign * labels, tf.constant(-math.inf, labels.dtype))
    return sign * tf.sort(keys, axis=-1, direction="DESCENDING")


def true_shares(labels: tf.Tensor, mask: tf.Tensor, direction: str, ranks: tf.Tensor) -> tf.Tensor:
    """The share of each item in each of the first `ranks` ranks, `[B, ranks, n]`. Tied items share evenly."""
    ordered = sorted_labels(labels, mask, direction)[:, :ranks]
    belongs = tf.equal(ordered[:, :, tf.newaxis], labels[:, tf.newaxis, :])
    allowed = tf.cast(tf.logical_and(belongs, mask[:, tf.newaxis, :]), labels.dtype)
    return tf.math.divide_no_nan(allowed, tf.reduce_sum(allowed, axis=2, keepdims=True))


def cross_entropies(shares: tf.Tensor, weights: tf.Tensor, log_weights: tf.Tensor, sizes: tf.Tensor) -> tf.Tensor:
    """The mean over each list's ranks of `-sum_j shares_ij w_j log_weights_ij`: [B]."""
    terms = shares * weights[:, tf.newaxis, :] * log_weights
    ranks = tf.cast(tf.maximum(tf.shape(log_weights)[1], 1), log_weights.dtype)
    return -tf.reduce_sum(terms, axis=[1, 2]) / tf.minimum(sizes, ranks)
