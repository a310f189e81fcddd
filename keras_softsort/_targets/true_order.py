"""The direction in which labels or ranks are sorted."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._targets.lists import Lists
from keras_softsort.ops.ranking import permutation_cross_entropy

TARGETS = ("labels", "ranks")


def sort_direction(target: str, direction: str) -> str:
    """The direction in which sorting `y_true` gives the rows of the prediction."""
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
    """Sorted labels `[B, n]`, with padding last as plus or minus infinity."""
    return permutation_cross_entropy.sorted_labels(lists.labels, lists.mask, direction)
