"""The cost of a pair and its derivative, as functions of the lead of the less relevant item's score."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from keras_softsort.ops._core.tracing import is_compiled

# Of the lead `s_j - s_i` of pairs with label_i >= label_j, and of their gaps `label_i - label_j`: the costs of the
# pairs, and their derivatives with respect to the lead.
PairCost = Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]]


def logistic(lead: tf.Tensor, gap: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """log(1 + exp(lead)), RankNet's."""
    if not is_compiled():  # the fewest operations
        return tf.nn.softplus(lead), tf.sigmoid(lead)
    small = tf.exp(-tf.abs(lead))
    # Of one number each: TensorFlow would keep a tile of ones as a constant of the graph.
    unit = tf.constant(1, lead.dtype)
    return tf.nn.relu(lead) + tf.math.log1p(small), tf.where(lead > 0, unit, small) / (1 + small)


def hinge(lead: tf.Tensor, gap: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """max(0, 1 + lead); the derivative at the kink is 0, as TensorFlow's."""
    costs = tf.nn.relu(1 + lead)
    return costs, tf.cast(costs > 0, lead.dtype)


def soft_zero_one(lead: tf.Tensor, gap: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """sigmoid(lead): between 0 for a pair in the right order and 1 for one in the wrong order."""
    costs = tf.sigmoid(lead)
    return costs, costs * (1 - costs)


def squared(lead: tf.Tensor, gap: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """(gap + lead)^2: the difference of the scores should be that of the labels."""
    error = gap + lead
    return tf.square(error), 2 * error


COSTS: dict[str, PairCost] = {
    "hinge": hinge,
    "logistic": logistic,
    "soft_zero_one": soft_zero_one,
    "squared": squared,
}
