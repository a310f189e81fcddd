"""Batches that hold one list each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.data import _options
from keras_softsort.data._ranking_dataset import RankingDataset
from keras_softsort.data._shared import SharedLists, without_copies


def batches_by_group(
    lists: RankingDataset | Sequence[tuple[Any, ...]],
    *,
    shuffle: bool = True,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> tf.data.Dataset:
    """Make batches for `model.fit` that are one list each: features `[n, f]` and labels `[n]`.

    For models of rows that end in `Dense(1)` and are trained by a list loss with `lists="batch"`: an era, a query or
    a day is one batch. Nothing is padded, so labels may have any sign with `padding=None` or `"nan_labels"`.

    Args:
      lists: a `RankingDataset`, or a sequence of pairs: features `[n, f]` and labels `[n]` of one list, anything that
        NumPy accepts. Triples have weights `[n]` as well.
      shuffle: whether the order of the lists differs from epoch to epoch. The items of a list keep their order.
      seed: seed of the order; `None` takes TensorFlow's global seed (`keras.utils.set_random_seed`).
      shard: `(index, count)` for worker `index` of `count`. It gets every `count`-th list, so each list belongs to
        exactly one worker.

    Returns:
      A `tf.data.Dataset` of pairs (features, labels), or triples with weights `[n]`, float32. Its cardinality is known.
      Lists without items are left out.

    Raises:
      ValueError: no item, lists with different numbers of features, a label that is not finite, a `shard` that is not
        a pair.
      TypeError: an argument of another type.

    Cost: a slice per batch; memory as for `bucketed_batches`. XLA compiles every list size; `bucketed_batches` makes
    few sizes.

    Example:

    >>> import numpy as np
    >>> import keras_softsort as ks
    >>> lists = [(np.ones([n, 2]), np.arange(n) - 1) for n in (3, 2)]
    >>> for features, labels in ks.data.batches_by_group(lists, shuffle=False).as_numpy_iterator():
    ...     print(features.shape, labels.tolist())
    (3, 2) [-1.0, 0.0, 1.0]
    (2, 2) [-1.0, 0.0]
    """
    arguments.boolean("shuffle", shuffle)
    index, count = _options.checked_shard(shard)
    flat = RankingDataset.of(lists)
    if not flat.labels.size:
        raise ValueError("lists must hold at least one item, got none")
    tensors = SharedLists.of(flat)
    members = np.flatnonzero(flat.sizes)[index::count]
    columns = [column for column in (tensors.features, tensors.labels, tensors.weights) if column is not None]

    def one_list(i: tf.Tensor) -> tuple:
        start = tensors.starts[i]
        return tuple(column[start : start + tensors.sizes[i]] for column in columns)

    dataset = tf.data.Dataset.from_tensor_slices(members)
    if shuffle and members.size:
        dataset = dataset.shuffle(members.size, seed=seed)
    return without_copies(dataset.map(one_list, num_parallel_calls=tf.data.AUTOTUNE), members.size)
