"""Checks, buckets of sizes and data sets without copies, for the functions that make batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.data._ranking_dataset import RankingDataset, check_items

_PADDED_LABEL: dict[str | None, float | None] = {"negative_labels": -1.0, "nan_labels": math.nan}


def padded_label(padding: str | None, *, optional: bool) -> float | None:
    """Return the label that marks padding. With `optional`, `padding` may be None, and then there is none."""
    choices = {**_PADDED_LABEL, None: None} if optional else _PADDED_LABEL
    if not isinstance(padding, (str, type(None))) or padding not in choices:
        raise ValueError(f"padding must be {' or '.join(map(repr, choices))}, got {padding!r}")
    return choices[padding]


def int64_seed(seed: Any) -> int | None:
    """Check `seed`, an integer or None, which TensorFlow takes as int64."""
    number = arguments.optional_integer("seed", seed)
    if number is not None and not -(2**63) <= number < 2**63:
        raise ValueError(f"seed must fit into int64, got {seed}")
    return number


def checked_shard(shard: Sequence[int] | None) -> tuple[int, int]:
    """Check and return the index of a worker and the number of workers. None stands for a single worker."""
    if shard is None:
        return 0, 1
    pair: Any = tuple(shard) if isinstance(shard, Sequence) and not isinstance(shard, str) else ()
    if len(pair) != 2:
        raise ValueError(f"shard must be None or a pair (index, count), got {shard!r}")
    index, count = arguments.non_negative_integer("shard", pair[0]), arguments.positive_integer("shard", pair[1])
    if index >= count:
        raise ValueError(f"shard must be (index, count) with an index below the count, got {pair}")
    return index, count


# No list of 8 or more items is padded to more than twice its size.
POWERS = tuple(2**power for power in range(3, 31))
_MAX_SIZE = 2**31 - 1  # sizes in a graph are int32


def checked_boundaries(boundaries: Sequence[int]) -> tuple[int, ...]:
    """Check that `boundaries` are strictly increasing integers of at least 1."""
    given = arguments.elements("boundaries", boundaries, "integers")
    sizes = tuple(arguments.positive_integer("boundaries", size) for size in given)
    if not sizes or list(sizes) != sorted(set(sizes)):
        raise ValueError(f"boundaries must be non-empty and strictly increasing, got {sizes}")
    if sizes[-1] > _MAX_SIZE:
        raise ValueError(f"boundaries must be at most 2^31 - 1, got {sizes[-1]}")
    return sizes


def batched_by_size(dataset: tf.data.Dataset, batch_size: int, drop_remainder: bool) -> tf.data.Dataset:
    """Batch pairs (padded size, element) so that the padded sizes of a batch are equal."""

    def batches(_: tf.Tensor, window: tf.data.Dataset) -> tf.data.Dataset:
        return window.batch(batch_size, drop_remainder=drop_remainder)

    return dataset.group_by_window(lambda size, _: size, batches, window_size=batch_size)


def checked_dataset(
    lists: RankingDataset | Sequence[tuple[Any, ...]], *, shuffle: bool, padding: str | None
) -> RankingDataset:
    """Return `lists` as a `RankingDataset` with items, whose labels allow `shuffle` and `padding`."""
    flat = RankingDataset.of(lists)
    if not len(flat.features):
        raise ValueError("lists must hold at least one item, got none")
    if flat.labels is None and shuffle:
        raise ValueError("shuffle must be False for lists without labels, whose scores would be in any order, got True")
    if padding == "negative_labels":
        rule = (
            'at least 0 with padding="negative_labels", which takes labels below 0 for padding; '
            'padding="nan_labels" allows them'
        )
        check_items("labels", flat.labels, lambda labels: labels >= 0, flat.sizes, rule)
    return flat


def without_copies(dataset: tf.data.Dataset, cardinality: int) -> tf.data.Dataset:
    """Set the number of elements of `dataset`, and turn off the optimizations that would copy the features."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(cardinality)).with_options(options)
    return dataset.prefetch(tf.data.AUTOTUNE)


def shared_tensor(array: np.ndarray) -> tf.Tensor:
    """Return `array` as a tensor on the CPU, without a copy if its memory is aligned, contiguous and writable."""
    # TensorFlow aborts the process when it computes with memory of another alignment than 64 bytes.
    can_share = array.ctypes.data % 64 == 0 and array.flags.c_contiguous and array.flags.writeable
    with tf.device("CPU:0"):  # input pipelines run there; otherwise every batch would be copied from a GPU
        if can_share and array.size:
            return tf.experimental.dlpack.from_dlpack(array.__dlpack__())
        return tf.constant(array)
