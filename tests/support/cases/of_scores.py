"""Public operators as functions of scores [batch, 6], for the relations in `tests/test_metamorphic.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

# Three lists of six items. Items 0 and 3 of a list have unequal labels.
LABELS = np.float32([[2, 0, 1, 3, 0, 1], [0, 1, 0, 2, 1, 0], [1, 0, 0, 3, 0, 2]])
# Multiples of 1/16: an offset of 10,000 and a factor that is a power of two do not round them. No two pairs of a list
# are equally far apart, since soft nearest neighbors have no gradient at equal distances.
SCORES = np.float64([[-2, -10, 14, 10, -8, 24], [-4, 18, -12, 8, 22, -10], [10, -14, 6, -16, 18, 0]]) / 16


@dataclass(frozen=True, eq=False)
class OfScores:
    """A public operator of scores [3, 6]. Fields named `depends_on` or `grows` state exceptions from relations."""

    name: str
    # (scores, tau, mask): results whose first axis is that of the lists.
    function: Callable[[tf.Tensor, Any, Any], tf.Tensor]
    option: str = ""
    # Adding a number to all scores changes the result.
    depends_on_offset: bool = False
    # Scores and temperature in other units change the result, for example since it takes no temperature.
    depends_on_unit: bool = False
    # The result has no limit as one score grows. The gradient of the other scores has one.
    grows_with_scores: bool = False
    # The gradient of the other scores has no limit either.
    grows_in_gradient: bool = False
    # Items of equal scores and labels get unequal results, for example since it gives an order.
    depends_on_order_of_ties: bool = False
    # It draws noise, which differs between types and modes. Sums of noise and scores are rounded.
    draws_noise: bool = False
    # Whole numbers, or results without a gradient.
    forward_only: bool = False
    # Its gradient is by choice not that of its value.
    straight_through: bool = False
    # It takes many seconds where each operation is called by itself.
    takes_many_operations: bool = False
    # A loss, which is 0 for a list without valid items.
    is_loss: bool = False

    def breaks(self, relation):
        """Whether it is an exception from a relation, by the name of its field."""
        return getattr(self, relation)

    def __str__(self):
        return "-".join(part for part in (self.name, self.option) if part)

    def run(self, scores, tau=0.5, mask=None):
        """The results and the gradient of their weighted sum, as arrays; the gradient is None with `forward_only`."""
        scores = tf.convert_to_tensor(scores)
        with tf.GradientTape() as tape:
            tape.watch(scores)
            result = self.function(scores, tf.constant(tau, scores.dtype), mask)
            total = tf.reduce_sum(result * weights(result)) if result.dtype.is_floating else result
        gradient = None if self.forward_only else tape.gradient(total, scores).numpy()
        return result.numpy(), gradient


def weights(result):
    """1 for losses, other weights for items and ranks."""
    if result.shape.rank == 1:
        return tf.ones_like(result)
    numbers = tf.cast(tf.range(tf.reduce_prod(tf.shape(result)[1:])), result.dtype)
    return tf.reshape(tf.cos(numbers), tf.shape(result)[1:])


def labels_of(scores):
    """Labels [3, n] of scores [3, n]: those of six items, repeated."""
    size = scores.shape[1] or LABELS.shape[1]
    return tf.constant(np.tile(LABELS, [1, -(-size // LABELS.shape[1])])[:, :size], scores.dtype)


def matrices(scores):
    """The scores of each list as a matrix of two rows: [3, 2, n / 2]."""
    return tf.reshape(scores, [3, 2, -1])


def rows(mask):
    """A mask of the rows of `matrices`."""
    return None if mask is None else mask[:, ::3]


def sides(scores):
    """The first and the last half of the items of each list, as points of one number: [3, n / 2, 1] twice."""
    return tf.split(scores[:, :, tf.newaxis], 2, axis=1)


def first(mask):
    """A mask of the first of the `sides`."""
    return None if mask is None else mask[:, : mask.shape[1] // 2]


def each_list(function, scores, mask):
    """The results of `function(points [n, 1], labels, mask)` for one list after another."""
    labels = tf.cast(labels_of(scores), tf.int32)
    masks = [None] * 3 if mask is None else mask
    return tf.stack([function(scores[i][:, tf.newaxis], labels[i], masks[i]) for i in range(3)])
