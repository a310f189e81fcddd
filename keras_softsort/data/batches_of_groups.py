"""Flat batches of rows that hold whole groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.data import _batching
from keras_softsort.data._ranking_dataset import RankingDataset


@export
def batches_of_groups(
    lists: RankingDataset | Sequence[tuple[Any, ...]],
    rows: int | None = 4096,
    *,
    shuffle: bool = True,
    seed: int | None = None,
    padding: str | None = None,
    shard: tuple[int, int] | None = None,
) -> tf.data.Dataset:
    """Make flat batches of whole groups for `model.fit`: features `[rows, f]` and targets `[rows, 2]`.

    Use them for a model of rows that ends in `Dense(1)` and losses and metrics with `lists="groups"`. The columns of
    the targets are the number of the group in its batch, from 0, and the label.

    Args:
      lists, seed: as in `bucketed_batches`.
      rows: the largest number of rows in a batch. `None` makes one batch of each group; `targets[:, 1]` then are the
        labels of one list, for a loss with `lists="batch"`.
      shuffle: whether the order of the groups differs from epoch to epoch. The rows of a group keep their order. If
        `rows` is less than three times the size of the largest group, only the order of the batches differs.
      padding: `None` for batches of at most `rows` rows, and with `rows=None`. `"negative_labels"` or `"nan_labels"`
        fill up each batch to `rows` rows, with the label -1 or NaN, features and weights 0 and a group of their own, so
        that XLA compiles one shape. Losses and metrics need the same `padding`.
      shard: `(index, count)` for worker `index` of `count`, which gets every `count`-th group.

    Returns:
      A `tf.data.Dataset` of pairs (features, targets), or triples with weights `[rows]`, float32, of known cardinality.
      Lists without labels, which need `shuffle=False`, give features alone, for `model.predict` and
      `lists.in_row_order`. Lists without items are left out. The cost is that of `bucketed_batches`.

    Raises:
      ValueError: a group has more than `rows` rows (the message names it), there is `padding` without `rows`, no item,
        a label is below 0 with `padding="negative_labels"` or missing with `shuffle`, an option is out of range, or an
        error of `RankingDataset`.
      TypeError: an argument has another type.

    Example:
      >>> lists = [(np.ones([n, 2]), np.arange(n)) for n in (3, 1, 2)]
      >>> batches = ks.data.batches_of_groups(lists, rows=4, shuffle=False)
      >>> next(batches.as_numpy_iterator())[1].tolist()
      [[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [1.0, 0.0]]
    """
    rows, seed = arguments.optional_positive_integer("rows", rows), _batching.int64_seed(seed)
    arguments.boolean("shuffle", shuffle)
    index, count = _batching.checked_shard(shard)
    padded_label = _batching.padded_label(padding, optional=True)
    if rows is None and padding is not None:
        raise ValueError(f"padding must be None with rows=None, got {padding!r}")
    flat = _batching.checked_dataset(lists, shuffle=shuffle, padding=padding)
    largest = int(flat.sizes.argmax())
    if rows is not None and flat.sizes[largest] > rows:
        name = f"lists[{largest}]" if flat.query_ids is None else f"group {flat.query_ids.tolist()[largest]!r}"
        raise ValueError(f"rows must hold the largest group, got {rows}, and {name} has {flat.sizes[largest]} rows")
    starts, sizes = _batching.shared_tensor(flat.starts), _batching.shared_tensor(flat.sizes)
    features, labels, weights = (
        None if column is None else _batching.shared_tensor(column)
        for column in (flat.features, flat.labels, flat.weights)
    )

    def batch(members: tf.Tensor) -> tuple:
        first = tf.gather(starts, members)
        ranges = tf.ragged.range(first, first + tf.gather(sizes, members))
        items, numbers = ranges.flat_values, ranges.value_rowids()

        def filled(values: tf.Tensor, filler: Any = 0) -> tf.Tensor:
            if padded_label is None or rows is None:
                return values
            widths = [[0, rows - tf.shape(values)[0]], *[[0, 0]] * (values.shape.rank - 1)]
            return tf.ensure_shape(tf.pad(values, widths, constant_values=filler), [rows, *values.shape[1:]])

        inputs = filled(tf.gather(features, items))
        if labels is None:
            return (inputs,)
        groups = filled(tf.cast(numbers, tf.float32), tf.cast(tf.size(members), tf.float32))
        targets = tf.stack([groups, filled(tf.gather(labels, items), padded_label or 0)], axis=1)
        return (inputs, targets) if weights is None else (inputs, targets, filled(tf.gather(weights, items)))

    members = np.flatnonzero(flat.sizes)[index::count]
    total, longest = (int(part(flat.sizes[members], initial=0)) for part in (np.sum, np.max))
    if shuffle and members.size and rows is not None and rows >= 3 * longest:
        batches = -(-total // (rows - longest + 1))
        order = tf.data.Dataset.from_tensor_slices(members).shuffle(members.size, seed=seed).batch(members.size)
        dataset = order.flat_map(
            lambda groups: tf.data.Dataset.from_tensor_slices(_of_equal_shares(groups, sizes, total, batches))
        )
    else:
        packed = _packed(members, flat.sizes[members], rows)
        batches = int(packed.nrows())
        dataset = tf.data.Dataset.from_tensor_slices(packed)
        dataset = dataset.shuffle(max(batches, 1), seed=seed) if shuffle else dataset
    return _batching.without_copies(dataset.map(batch, num_parallel_calls=tf.data.AUTOTUNE), batches)


def _of_equal_shares(groups: tf.Tensor, sizes: tf.Tensor, total: int, batches: int) -> tf.RaggedTensor:
    """The groups of each batch, in this order: a batch ends with the group that completes its share of the rows."""
    ends = tf.cumsum(tf.gather(sizes, groups))
    shares = tf.constant([-(-number * total // batches) for number in range(1, batches + 1)], ends.dtype)
    splits = tf.searchsorted(ends, shares) + 1
    return tf.RaggedTensor.from_row_splits(groups, tf.concat([[0], splits], axis=0))


def _packed(groups: np.ndarray, sizes: np.ndarray, rows: int | None) -> tf.RaggedTensor:
    """The groups of each batch: as many as fit into `rows` rows, in this order, or one."""
    if rows is None:
        return tf.RaggedTensor.from_row_splits(tf.constant(groups, tf.int64), np.arange(len(groups) + 1))
    ends, splits = np.cumsum(sizes), [0]
    while splits[-1] < len(groups):
        before = ends[splits[-1] - 1] if splits[-1] else 0
        splits.append(int(np.searchsorted(ends, before + rows, side="right")))
    return tf.RaggedTensor.from_row_splits(tf.constant(groups, tf.int64), splits)
