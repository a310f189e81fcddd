"""The published formulas in plain TensorFlow, which the operators are compared with."""

from __future__ import annotations

import tensorflow as tf


def neural_sort(scores: tf.Tensor, tau: float = 1.0, rows: int | None = None) -> tf.Tensor:
    """NeuralSort, or its first `rows`, in the dtype of `scores`.

    The row sums are a reduction, which XLA fuses, and not the n x n x n product of the reference code.
    """
    size = scores.shape[-1]
    sums = tf.reduce_sum(tf.abs(scores[..., tf.newaxis] - scores[..., tf.newaxis, :]), axis=-1)
    slopes = tf.cast(size - 1 - 2 * tf.range(size if rows is None else rows), scores.dtype)
    return tf.nn.softmax((slopes[:, tf.newaxis] * scores[..., tf.newaxis, :] - sums[..., tf.newaxis, :]) / tau)


def soft_sort(scores: tf.Tensor) -> tf.Tensor:
    """SoftSort with tau 1."""
    ordered = tf.sort(scores, direction="DESCENDING")
    return tf.nn.softmax(-tf.abs(ordered[..., tf.newaxis] - scores[..., tf.newaxis, :]))


def sinkhorn(logits: tf.Tensor, tau: float = 1.0, iterations: int = 20) -> tf.Tensor:
    """In the log domain, the whole matrix normalized in turn, as in the published code."""
    logits /= tau
    for _ in range(iterations):
        logits -= tf.reduce_logsumexp(logits, axis=-1, keepdims=True)
        logits -= tf.reduce_logsumexp(logits, axis=-2, keepdims=True)
    return tf.exp(logits)


def sinkhorn_potentials(logits: tf.Tensor, tau: float = 1.0, iterations: int = 20) -> tf.Tensor:
    """The same with potentials that are updated in place of the matrix, which is the fairer comparison."""
    logits /= tau
    columns = tf.zeros_like(logits[..., :1, :])
    for _ in range(iterations):
        rows = -tf.reduce_logsumexp(logits + columns, axis=-1, keepdims=True)
        columns = -tf.reduce_logsumexp(logits + rows, axis=-2, keepdims=True)
    return tf.exp(logits + rows + columns)


def pair_costs(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """RankNet's costs of all pairs of all lists, their sum, by a tensor of all pairs."""
    pairs = tf.cast(labels[:, :, tf.newaxis] > labels[:, tf.newaxis, :], scores.dtype)
    return tf.reduce_sum(pairs * tf.math.softplus(scores[:, tf.newaxis, :] - scores[:, :, tf.newaxis]))
