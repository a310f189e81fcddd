"""The true order of a list, from labels or from ranks, with ties and padding: what losses and metrics compare with."""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._targets.lists import Lists

TARGETS = ("labels", "ranks")


def sort_direction(target: str, direction: str) -> str:
    """The direction in which `y_true` is to be sorted, so that it gives the rows of the prediction."""
    arguments.one_of("target", target, TARGETS)
    arguments.one_of("direction", direction, arguments.DIRECTIONS)
    if target == "labels":
        return direction
    if direction != "DESCENDING":
        raise ValueError(
            f"direction must be left at 'DESCENDING' with target='ranks' (rank 1 is row 0), got {direction!r}"
        )
    return "ASCENDING"


def sorted_labels(lists: Lists, direction: str) -> tf.Tensor:
    """Labels `[B, n]` in order, padding last as +-infinity."""
    sign = 1 if direction == "DESCENDING" else -1
    keys = tf.where(lists.mask, sign * lists.labels, tf.constant(-math.inf, lists.labels.dtype))
    return sign * tf.sort(keys, axis=-1, direction="DESCENDING")


def matches(lists: Lists, direction: str, ranks: tf.Tensor) -> tf.Tensor:
    """Whether an item may stand at each of the first `ranks` ranks: `[B, ranks, n]` bool.

    Tied items may stand at any of their ranks.
    """
    ordered = sorted_labels(lists, direction)[:, :ranks]
    same = tf.equal(ordered[:, :, tf.newaxis], lists.labels[:, tf.newaxis, :])
    return tf.logical_and(same, lists.mask[:, tf.newaxis, :])
