"""The row softmax of logits with masks, and its gradient."""

from __future__ import annotations

import math

import tensorflow as tf


def masked_logits(logits: tf.Tensor, mask: tf.Tensor | None, valid_rows: tf.Tensor | None) -> tf.Tensor:
    """Mask `logits` [B, r, n]; their softmax is the matrix.

    A valid row spreads over the valid items, and the other rows spread evenly over the masked ones.
    """
    if mask is not None and valid_rows is not None:
        valid = valid_rows[:, :, tf.newaxis]
        logits = tf.where(valid, logits, tf.zeros_like(logits))
        excluded = tf.constant(-math.inf, logits.dtype)
        logits = tf.where(tf.equal(mask[:, tf.newaxis, :], valid), logits, excluded)
    return logits


def temperature_gradient(d_logits: tf.Tensor, logits: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
    """The gradient of `tau` [B, 1] for logits that are inversely proportional to it: [B, 1]. Masked logits count 0."""
    finite = tf.where(tf.math.is_inf(logits), tf.zeros_like(logits), logits)
    return -tf.reduce_sum(finite * d_logits, axis=[1, 2])[:, tf.newaxis] / tau


def softmax_gradient(
    permutation: tf.Tensor, upstream: tf.Tensor, valid_rows: tf.Tensor | None, log: bool = False
) -> tf.Tensor:
    """The gradient with respect to the logits, of the matrix or its logarithm: [B, r, n], every row summing to 0."""
    if log:
        gradient = upstream - permutation * tf.reduce_sum(upstream, axis=-1, keepdims=True)
    else:
        gradient = permutation * (upstream - tf.reduce_sum(permutation * upstream, axis=-1, keepdims=True))
    if valid_rows is None:
        return gradient
    return tf.where(valid_rows[:, :, tf.newaxis], gradient, tf.zeros_like(gradient))
