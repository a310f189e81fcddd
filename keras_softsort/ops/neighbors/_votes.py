"""The vote of the nearest neighbors of a query on its class."""

from __future__ import annotations

import math

import tensorflow as tf


def class_shares(
    labels: tf.Tensor, neighbors: tf.Tensor, distances: tf.Tensor, num_classes: int, *, by_distance: bool
) -> tf.Tensor:
    """The share of each class in the vote of `neighbors` [q, k], which number the `labels` [n]: [q, num_classes]."""
    weights = neighbor_weights(distances, by_distance=by_distance)
    is_class = tf.one_hot(tf.gather(labels, neighbors), num_classes, dtype=distances.dtype)
    return tf.reduce_sum(weights[..., tf.newaxis] * is_class, axis=1)


def neighbor_weights(distances: tf.Tensor, *, by_distance: bool) -> tf.Tensor:
    """The share of each neighbor [batch, k] in the vote, equal or in proportion to 1 / distance; NaN for NaN."""
    if not by_distance:
        is_nan = tf.reduce_any(tf.math.is_nan(distances), axis=-1, keepdims=True)
        equal = tf.ones_like(distances) / tf.cast(tf.shape(distances)[-1], distances.dtype)
        return tf.where(is_nan, tf.constant(math.nan, distances.dtype), equal)
    # Relative to the nearest, so that nothing overflows.
    nearest = tf.reduce_min(distances, axis=-1, keepdims=True)
    at_zero = tf.equal(distances, 0)
    ratios = nearest / tf.where(at_zero, tf.ones_like(distances), distances)
    ratios = tf.where(at_zero, tf.ones_like(ratios), ratios)
    return ratios / tf.reduce_sum(ratios, axis=-1, keepdims=True)
