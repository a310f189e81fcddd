"""The gradient of RankNet's cost of a list with respect to a model's weights, in two ways."""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

import keras_softsort as ks


def lambda_gradients(model: keras.Model, features: tf.Tensor, labels: tf.Tensor) -> list[tf.Tensor]:
    """The direct lambda gradient: n forward passes, and no cost. Features `[n, d]`, labels `[n]`."""
    with tf.GradientTape() as tape:
        scores = model(features, training=True)[:, 0]
    lambdas = ks.ops.ranknet_lambdas(scores, labels)
    return tape.gradient(scores, model.trainable_variables, output_gradients=lambdas)


def pair_gradients(model: keras.Model, features: tf.Tensor, labels: tf.Tensor) -> list[tf.Tensor]:
    """Two towers that share their weights: two forward passes for each of up to n (n - 1) / 2 pairs."""
    preferred, other = tf.unstack(tf.where(labels[:, tf.newaxis] > labels), axis=1)
    with tf.GradientTape() as tape:
        ahead = model(tf.gather(features, preferred), training=True) - model(tf.gather(features, other), training=True)
        cost = tf.reduce_sum(tf.math.softplus(-ahead[:, 0]))
    return tape.gradient(cost, model.trainable_variables)


def scorer(features: int) -> keras.Model:
    """Items `[n, features]` to scores `[n, 1]`."""
    relu = {"activation": "relu"}
    hidden = [keras.layers.Dense(64, **relu), keras.layers.Dense(32, **relu)]
    return keras.Sequential([keras.Input((features,)), *hidden, keras.layers.Dense(1)])
