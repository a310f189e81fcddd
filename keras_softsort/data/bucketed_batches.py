"""Lists in memory to padded batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.data import _buckets
from keras_softsort.data._ranking_dataset import RankingDataset


def bucketed_batches(
    lists: RankingDataset | Sequence[tuple[Any, Any]],
    batch_size: int,
    *,
    boundaries: Sequence[int] | None = None,
    truncate: bool = False,
    shuffle: bool = True,
    seed: int | None = None,
    drop_remainder: bool = False,
    mask: bool = False,
) -> tf.data.Dataset:
    """Batches for `model.fit` of lists of like sizes: features `[batch, n, f]` and labels `[batch, n]`.

    Each list is padded to the smallest of a few sizes n that holds it, and a batch is made of lists of one padded size,
    so that XLA compiles as many shapes as there are such sizes (twice as many with batches that are not full). Padding
    is 0 among features and -1 among labels, which every loss and metric here leaves out, and so do those of TF-Ranking
    and Keras-RS.

    Args:
      lists: a `RankingDataset`, which `read_svmlight` returns, or a sequence of pairs: features `[n, f]` and
        labels `[n]` of one list, as anything that NumPy takes. Labels are relevance, finite and from 0 on.
      batch_size: lists in a batch.
      boundaries: the padded sizes, ascending. `None` chooses the powers of 2 from 8 on, the last of them replaced by
        the size of the longest list.
      truncate: what is done with a list that is longer than the last of `boundaries`: with False it is an error, with
        True its first items are kept, as they stand.
      shuffle: whether lists come in another order in each epoch. Without it batches are the same in each epoch, but
        by bucketing not in the order of the lists.
      seed: of the order of lists; `None` takes TensorFlow's global seed (`keras.utils.set_random_seed`).
      drop_remainder: whether batches that are not full are left out, so that `batch` is static: up to
        `batch_size - 1` lists of each padded size are not seen in an epoch. With one boundary n is static as well.
      mask: whether features are a dictionary of the `"features"` and a `"mask"` `[batch, n]`, True for items and False
        for padding: for models with two inputs of these names.

    Returns:
      A `tf.data.Dataset` of pairs (features, labels), float32, whose cardinality is known. A list without items is
      padding throughout.

    Raises:
      ValueError: no item, lists whose features differ in number, a label below 0 or not finite, `batch_size` below 1,
        boundaries that do not ascend, a list longer than the last of them without `truncate`.
      TypeError: an argument of another type.

    Cost: the lists are copied once into the memory of TensorFlow; each batch is one gather.

    Example:

    >>> import numpy as np
    >>> import keras_softsort as ks
    >>> lists = [(np.ones([n, 2]), np.arange(n)) for n in (3, 20, 5)]
    >>> batches = ks.data.bucketed_batches(lists, batch_size=2, boundaries=(5, 20), shuffle=False)
    >>> [features.shape for features, _ in batches.as_numpy_iterator()]
    [(2, 5, 2), (1, 20, 2)]
    >>> next(batches.as_numpy_iterator())[1].tolist()
    [[0.0, 1.0, 2.0, -1.0, -1.0], [0.0, 1.0, 2.0, 3.0, 4.0]]
    """
    batch_size = arguments.positive_integer("batch_size", batch_size)
    for name, value in (("shuffle", shuffle), ("drop_remainder", drop_remainder), ("mask", mask)):
        arguments.boolean(name, value)
    judged = RankingDataset.of(lists)
    if not judged.labels.size:
        raise ValueError("lists must hold an item at least, got none")
    bounds = _boundaries(boundaries, judged.sizes, arguments.boolean("truncate", truncate))
    with tf.device("CPU:0"):  # where the input pipeline runs: a GPU would be asked for every batch
        features, labels = tf.constant(judged.features), tf.constant(judged.labels)
        starts, sizes = tf.constant(judged.starts), tf.constant(judged.sizes)
        padded = _buckets.padded_size(sizes, bounds)

    def batch(size: tf.Tensor, members: tf.Tensor) -> tuple:
        places = tf.range(_buckets.static_size(size, bounds), dtype=tf.int64)
        kept = places < tf.gather(sizes, members)[:, tf.newaxis]
        items = tf.where(kept, tf.gather(starts, members)[:, tf.newaxis] + places, 0)
        inputs = tf.where(kept[..., tf.newaxis], tf.gather(features, items), 0)
        return {"features": inputs, "mask": kept} if mask else inputs, tf.where(kept, tf.gather(labels, items), -1)

    dataset = tf.data.Dataset.range(len(judged))
    if shuffle:
        dataset = dataset.shuffle(len(judged), seed=seed)
    dataset = dataset.map(lambda i: (tf.gather(padded, i), i))
    dataset = _buckets.batched_by_size(dataset, batch_size, drop_remainder)
    dataset = dataset.map(batch, num_parallel_calls=tf.data.AUTOTUNE)
    members = np.unique(padded.numpy(), return_counts=True)[1]
    count = np.sum(members // batch_size if drop_remainder else -(-members // batch_size))
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False  # which would copy all features once more
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(count)).with_options(options)
    return dataset.prefetch(tf.data.AUTOTUNE)


def _boundaries(boundaries: Sequence[int] | None, sizes: np.ndarray, truncate: bool) -> tuple[int, ...]:
    longest = int(sizes.max())
    if boundaries is None:
        return (*(size for size in _buckets.POWERS if size < longest), longest)
    bounds = _buckets.checked_boundaries(boundaries)
    if longest > bounds[-1] and not truncate:
        raise ValueError(
            f"boundaries must hold the longest list unless truncate is True, got {bounds}, and lists[{sizes.argmax()}] "
            f"has {longest} items"
        )
    return bounds
