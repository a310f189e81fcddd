"""The losses that `retrieval.py` compares with, of labels `[b]` and unit vectors `[b, d]`, from their papers."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf
from tensorflow import keras


def pairs(labels: tf.Tensor, embeddings: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Similarities [b, b], whether two are of a class, and whether they are two at all."""
    labels = tf.reshape(labels, [-1])
    others = tf.logical_not(tf.eye(tf.size(labels), dtype=tf.bool))
    return tf.matmul(embeddings, embeddings, transpose_b=True), (labels[:, None] == labels) & others, others


def in_batch_softmax(tau: float) -> Callable:
    """SupCon: every other image of the class is right among all others (Khosla et al. 2020)."""

    def loss(labels: tf.Tensor, embeddings: tf.Tensor) -> tf.Tensor:
        similarities, same, others = pairs(labels, embeddings)
        logits = tf.where(others, similarities / tau, -1e9)
        right = tf.where(same, tf.nn.log_softmax(logits), 0.0)
        return -tf.reduce_mean(
            tf.math.divide_no_nan(tf.reduce_sum(right, 1), tf.reduce_sum(tf.cast(same, tf.float32), 1))
        )

    return loss


def triplet(margin: float) -> Callable:
    """Semi-hard negatives: the nearest beyond the positive, or else the farthest (Schroff et al. 2015)."""

    def loss(labels: tf.Tensor, embeddings: tf.Tensor) -> tf.Tensor:
        similarities, same, others = pairs(labels, embeddings)
        squared = 2 - 2 * similarities
        negatives = tf.where(others & ~same, squared, 1e9)
        farther = tf.where(negatives[:, None, :] > squared[:, :, None], negatives[:, None, :], 1e9)
        nearest = tf.reduce_min(farther, axis=2)
        farthest = tf.reduce_max(tf.where(negatives < 1e9, negatives, -1e9), axis=1, keepdims=True)
        costs = tf.nn.relu(squared - tf.where(nearest < 1e9, nearest, farthest) + margin)
        return tf.reduce_sum(tf.where(same, costs, 0.0)) / tf.reduce_sum(tf.cast(same, tf.float32))

    return loss


def circle(gamma: float, margin: float = 0.25) -> Callable:
    """Circle loss (Sun et al. 2020)."""

    def loss(labels: tf.Tensor, embeddings: tf.Tensor) -> tf.Tensor:
        similarities, same, others = pairs(labels, embeddings)
        pull = tf.stop_gradient(tf.nn.relu(1 + margin - similarities))
        push = tf.stop_gradient(tf.nn.relu(similarities + margin))
        positive = tf.where(same, -gamma * pull * (similarities - (1 - margin)), -1e9)
        negative = tf.where(others & ~same, gamma * push * (similarities - margin), -1e9)
        total = tf.reduce_logsumexp(positive, axis=1) + tf.reduce_logsumexp(negative, axis=1)
        return tf.reduce_mean(tf.nn.softplus(total))

    return loss


def cosine_softmax(tau: float) -> Callable:
    """Cross-entropy of a classifier by cosines (Zhai and Wu 2019)."""
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return lambda labels, cosines: cross_entropy(labels, cosines / tau)
