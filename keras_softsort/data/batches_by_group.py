"""Batches that hold one list each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.data import _batching
from keras_softsort.data._arrays import shared_tensor
from keras_softsort.data._ranking_dataset import RankingDataset


@export
def batches_by_group(
    lists: RankingDataset | Sequence[tuple[Any, ...]],
    *,
    shuffle: bool = True,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> tf.data.Dataset:
    """Make batches for `model.fit` that hold one list each: features `[n, f]` and labels `[n]`.

    Use them for a model of rows that ends in `Dense(1)` and a list loss with `lists="batch"`: each query, day or era is
    one batch. Nothing is padded, so labels may have any sign if the loss has `padding=None` or `"nan_labels"`.

    Args:
      lists: a `RankingDataset`, or a sequence of pairs: features `[n, f]` and labels `[n]` of one list, as anything
        that NumPy converts to arrays. Triples also hold weights `[n]`.
      shuffle: whether the order of the lists differs from epoch to epoch. The items of a list keep their order.
        It must be False for lists without labels.
      seed: seed of the order; `None` takes TensorFlow's global seed (`keras.utils.set_random_seed`).
      shard: `(index, count)` for worker `index` of `count`. It gets every `count`-th list, so each list belongs to
        exactly one worker.

    Returns:
      A `tf.data.Dataset` of pairs (features, labels), or triples with weights `[n]`, float32. Without labels there are
      features alone, for `model.predict` and `lists.in_row_order`. Its cardinality is known. Lists without items are
      left out.

    Raises:
      ValueError: there is no item, lists have different numbers of features, a label is not finite, there are no
        labels and `shuffle` is True, `shard` is not a pair, or an error of `RankingDataset`.
      TypeError: an argument has another type.

    Cost: one slice per batch, and the memory of `bucketed_batches`. XLA compiles every list size, of which
    `bucketed_batches` makes few.

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
    seed = _batching.int64_seed(seed)
    index, count = _batching.checked_shard(shard)
    flat = _batching.lists_with_items(lists)
    _batching.check_order(flat, shuffle)
    starts, sizes = shared_tensor(flat.starts), shared_tensor(flat.sizes)
    columns = [shared_tensor(column) for column in (flat.features, flat.labels, flat.weights) if column is not None]

    def one_list(i: tf.Tensor) -> tuple:
        return tuple(column[starts[i] : starts[i] + sizes[i]] for column in columns)

    members = np.flatnonzero(flat.sizes)[index::count]
    dataset = tf.data.Dataset.from_tensor_slices(members)
    if shuffle and members.size:
        dataset = dataset.shuffle(members.size, seed=seed)
    dataset = dataset.map(one_list, num_parallel_calls=tf.data.AUTOTUNE)
    return _batching.without_copies(dataset, members.size)
