"""The row softmax of logits given as drops from the row's peak, with masks; and its gradient."""

from __future__ import annotations

import tensorflow as tf


def peaked_softmax(drop: tf.Tensor, tau: tf.Tensor, mask: tf.Tensor | None, valid_rows: tf.Tensor | None) -> tf.Tensor:
    """softmax_j(-drop_ij / tau), `drop` [B, r, n] >= 0 and 0 at each row's peak, `tau` [B, 1].

    The peak's weight is 1, so the sum needs no maximum taken out. A valid row spreads over unmasked items, another
    row evenly over masked ones.
    """
    weights = tf.exp(-drop / tau[:, :, tf.newaxis])
    if mask is not None and valid_rows is not None:
        valid = valid_rows[:, :, tf.newaxis]
        weights = tf.where(valid, weights, tf.ones_like(weights))
        weights = tf.where(tf.equal(mask[:, tf.newaxis, :], valid), weights, tf.zeros_like(weights))
    return weights / tf.reduce_sum(weights, axis=-1, keepdims=True)


def softmax_gradient(
    permutation: tf.Tensor, upstream: tf.Tensor, tau: tf.Tensor, valid_rows: tf.Tensor | None
) -> tf.Tensor:
    """The gradient with respect to `-drop` of `peaked_softmax`: [B, r, n], every row summing to 0."""
    weighted = permutation * upstream
    gradient = weighted - permutation * tf.reduce_sum(weighted, axis=-1, keepdims=True)
    gradient /= tau[:, :, tf.newaxis]
    if valid_rows is None:
        return gradient
    return tf.where(valid_rows[:, :, tf.newaxis], gradient, tf.zeros_like(gradient))
