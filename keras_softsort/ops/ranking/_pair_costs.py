"""The costs of a pair of items, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import tensorflow as tf

from keras_softsort.ops.core.tracing import is_compiled

# (lead, gap) -> cost, d cost / d lead, d^2 cost / d lead^2, each made when it is asked for. The lead is `s_j - s_i` and
# the gap `label_i - label_j` of pairs with label_i >= label_j.
PairCost = Callable[[tf.Tensor, tf.Tensor], Iterator[tf.Tensor]]


def _logistic(lead: tf.Tensor, gap: tf.Tensor) -> Iterator[tf.Tensor]:
    """log(1 + exp(lead))."""
    if is_compiled():
        # All three need one exponential, where a softplus and a sigmoid take two.
        term = tf.exp(-tf.abs(lead))
        total = 1 + term
        yield tf.nn.relu(lead) + tf.math.log1p(term)
        yield tf.where(lead <= 0, term, 1) / total
        yield term / tf.square(total)
    else:  # each operation is a pass over all pairs
        yield tf.nn.softplus(lead)
        yield tf.sigmoid(lead)
        yield tf.sigmoid(lead) * tf.sigmoid(-lead)


def _hinge(lead: tf.Tensor, gap: tf.Tensor) -> Iterator[tf.Tensor]:
    """max(0, 1 + lead); the derivative at the kink is 0, as TensorFlow's."""
    costs = tf.nn.relu(1 + lead)
    yield costs
    yield tf.cast(costs > 0, lead.dtype)
    yield tf.zeros_like(lead)


def _soft_zero_one(lead: tf.Tensor, gap: tf.Tensor) -> Iterator[tf.Tensor]:
    """sigmoid(lead): between 0 for a pair in the right order and 1 for one in the wrong order."""
    costs = tf.sigmoid(lead)
    slopes = costs * (1 - costs)
    yield costs
    yield slopes
    yield slopes * (1 - 2 * costs)


def _squared(lead: tf.Tensor, gap: tf.Tensor) -> Iterator[tf.Tensor]:
    """(gap + lead)^2: the difference of the scores should be that of the labels."""
    error = gap + lead
    yield tf.square(error)
    yield 2 * error
    yield 2 * tf.ones_like(lead)


COSTS: dict[str, PairCost] = {
    "hinge": _hinge,
    "logistic": _logistic,
    "soft_zero_one": _soft_zero_one,
    "squared": _squared,
}
