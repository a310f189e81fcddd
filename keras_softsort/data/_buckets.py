"""Batches of lists of similar sizes, so that there are few shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments

# No list of 8 or more items is padded to more than twice its size.
POWERS = tuple(2**power for power in range(3, 31))
_LARGEST = 2**31 - 1  # sizes in a graph are int32


def checked_boundaries(boundaries: Sequence[int]) -> tuple[int, ...]:
    """Check that `boundaries` are strictly increasing integers of at least 1."""
    given = arguments.elements("boundaries", boundaries, "integers")
    sizes = tuple(arguments.positive_integer("boundaries", size) for size in given)
    if not sizes or list(sizes) != sorted(set(sizes)):
        raise ValueError(f"boundaries must be non-empty and strictly increasing, got {sizes}")
    if sizes[-1] > _LARGEST:
        raise ValueError(f"boundaries must be at most 2^31 - 1, got {sizes[-1]}")
    return sizes


def padded_size(sizes: tf.Tensor, boundaries: tuple[int, ...]) -> tf.Tensor:
    """For each of `sizes` the smallest of `boundaries` that holds it, else the largest: int64."""
    bounds = tf.constant(boundaries, tf.int64)
    places = tf.searchsorted(bounds, tf.reshape(tf.cast(sizes, tf.int64), [-1]))
    return tf.reshape(tf.gather(bounds, tf.minimum(places, len(boundaries) - 1)), tf.shape(sizes))


def batched_by_size(dataset: tf.data.Dataset, batch_size: int, drop_remainder: bool) -> tf.data.Dataset:
    """Batch pairs (padded size, element) to (padded size, elements `[batch]`), with one padded size per batch."""

    def batches(size: tf.Tensor, window: tf.data.Dataset) -> tf.data.Dataset:
        return window.batch(batch_size, drop_remainder=drop_remainder).map(lambda _, elements: (size, elements))

    return dataset.group_by_window(lambda size, _: size, batches, window_size=batch_size)


def static_size(size: tf.Tensor, boundaries: tuple[int, ...]) -> Any:
    """Return `size`, as a Python number if there is only one, so that the shapes of batches are static."""
    return boundaries[0] if len(boundaries) == 1 else size
