"""A network that scores candidates for the next place of a slate by what is on the slate already."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf
from tensorflow import keras

SEEN, HEADS = 16, 4  # numbers that sum up what is on the slate, for each candidate; heads of attention
MOST_LOGIT = 8.0  # of attention, so that its exponential stays in range


class Network(NamedTuple):
    """`look`: what a candidate's difference from a wine on the slate means; `score`: its score for the next place.

    With `attends`, `look` also says how much attention the candidate pays to that wine.
    """

    look: keras.Model
    score: keras.Model
    attends: bool

    @property
    def variables(self) -> list:
        """Everything that is trained."""
        return [*self.look.trainable_variables, *self.score.trainable_variables]


def new_network(features: int, places: int, attends: bool) -> Network:
    """Networks over the last axis, of two hidden layers in all."""
    relu = {"activation": "relu"}
    looked = keras.layers.Dense(SEEN + HEADS * attends)
    look = [keras.Input((None, features)), keras.layers.Dense(64, **relu), looked]
    score = [keras.layers.Dense(64, **relu), keras.layers.Dense(64, **relu), keras.layers.Dense(1)]
    known = keras.Input((None, features + SEEN + places))
    return Network(keras.Sequential(look), keras.Sequential([known, *score]), attends)


def look_at(network: Network, difference: tf.Tensor, seen: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Add a wine to what each candidate has `seen` on the slate: to the sum, or to the mean by attention.

    `total` is the sum of the weights of that mean, 1 for an empty slate.
    """
    looked = network.look(difference)
    if not network.attends:
        return seen + looked, total
    values, logits = tf.split(looked, [SEEN, HEADS], axis=-1)
    weights = tf.repeat(tf.exp(MOST_LOGIT * tf.tanh(logits / MOST_LOGIT)), SEEN // HEADS, axis=-1)
    return seen + (values - seen) * weights / (total + weights), total + weights
