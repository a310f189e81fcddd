"""Padded batches of lists in memory."""

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
def bucketed_batches(
    lists: RankingDataset | Sequence[tuple[Any, ...]],
    batch_size: int,
    *,
    boundaries: Sequence[int] | None = None,
    truncate: bool = False,
    padding: str | None = "negative_labels",
    shuffle: bool = True,
    seed: int | None = None,
    drop_remainder: bool = False,
    mask: bool = False,
    rows: bool = False,
    shard: tuple[int, int] | None = None,
) -> tf.data.Dataset:
    """Make padded batches of lists of similar sizes for `model.fit`: features `[batch, n, f]` and labels `[batch, n]`.

    Use them to train a model of lists. Each list is padded with features of 0 to the smallest of a few sizes n that
    holds it, and a batch holds lists of one padded size. XLA compiles each padded size once, or twice with partial
    batches. To score rows use `models.score_rows`: `model.predict` would score padding, in the order of the batches.

    Args:
      lists: a `RankingDataset`, or a sequence of tuples: features `[n, f]`, labels `[n]`, perhaps weights `[n]`.
      batch_size: number of lists in a batch.
      boundaries: the padded sizes, strictly increasing. `None` chooses the powers of 2 from 8 on, and the longest list.
      truncate: whether longer lists than the last of `boundaries` are cut to their first items, or are an error.
      padding: the mark of padding. Losses and metrics need the same `padding`. `"negative_labels"`: padded labels are
        -1, and labels must be at least 0. `"nan_labels"`: padded labels are NaN, and labels may have any sign. `None`:
        nothing is padded, each batch holds lists of one size, and `boundaries` must be `None`.
      shuffle: whether the order of the lists differs from epoch to epoch.
      seed: seed of the order; `None` takes TensorFlow's global seed.
      drop_remainder: whether partial batches are left out, so that `batch` is static. Up to `batch_size - 1` lists of
        each padded size are then not seen in an epoch.
      mask: whether features are a dictionary of `"features"` and `"mask"`, bool `[batch, n]`, True for items.
      rows: whether batches have the row of each item in place of labels and weights, int64, -1 in the padding, for your
        own loop over batches to score. It must be True for lists without labels.
      shard: `(index, count)` for worker `index` of `count`, which gets every `count`-th list. Workers may differ in
        their number of batches.

    Returns:
      A `tf.data.Dataset` of pairs (features, labels), or triples with weights `[batch, n]` (0 in the padding), float32.
      Its cardinality is known. A list without items is padding throughout.

    Raises:
      ValueError: there is no item, a label is below 0 with `padding="negative_labels"` or missing without `rows`, an
        option is out of range, a list is longer than the last boundary without `truncate`, or an error of
        `RankingDataset`.
      TypeError: an argument has another type.

    Cost: one gather per batch, and one copy of the features, unless they come from `read_svmlight`, `from_frame` or
    `read_parquet`: these are shared, so do not change them afterwards.

    Example:
      >>> lists = [(np.ones([n, 2]), np.arange(n)) for n in (3, 20, 5)]
      >>> batches = ks.data.bucketed_batches(lists, batch_size=2, boundaries=(5, 20), shuffle=False)
      >>> next(batches.as_numpy_iterator())[1].tolist()
      [[0.0, 1.0, 2.0, -1.0, -1.0], [0.0, 1.0, 2.0, 3.0, 4.0]]
    """
    batch_size = arguments.positive_integer("batch_size", batch_size)
    options = {"shuffle": shuffle, "drop_remainder": drop_remainder, "mask": mask, "rows": rows, "truncate": truncate}
    for name, value in options.items():
        arguments.boolean(name, value)
    seed = _batching.int64_seed(seed)
    index, count = _batching.checked_shard(shard)
    padded_label = _batching.padded_label(padding, optional=True)
    flat = _batching.checked_dataset(lists, shuffle=False, padding=None if rows else padding)
    if flat.labels is None and not rows:
        raise ValueError(
            "lists must have labels, got none: models.score_rows(model, lists) scores their rows, and rows=True makes "
            "batches with the row of each item"
        )
    numbers = np.arange(len(flat.features)) if flat.rows is None else flat.rows
    targets: Any = numbers if rows else flat.labels
    filler = -1 if rows else padded_label
    bounds = _boundaries(boundaries, flat.sizes, truncate, is_padded=padding is not None)
    features, targets, starts, sizes = map(_batching.shared_tensor, (flat.features, targets, flat.starts, flat.sizes))
    weights = None if rows or flat.weights is None else _batching.shared_tensor(flat.weights)

    def batch(padded: tf.Tensor, members: tf.Tensor) -> tuple:
        positions = tf.range(bounds[0] if len(bounds) == 1 else padded[0], dtype=tf.int64)
        valid = positions < tf.gather(sizes, members)[:, tf.newaxis]
        items = tf.where(valid, tf.gather(starts, members)[:, tf.newaxis] + positions, 0)
        inputs = tf.where(valid[..., tf.newaxis], tf.gather(features, items), 0)
        of_items = tf.gather(targets, items)
        of_items = of_items if filler is None else tf.where(valid, of_items, filler)
        result = ({"features": inputs, "mask": valid} if mask else inputs, of_items)
        return result if weights is None else (*result, tf.where(valid, tf.gather(weights, items), 0))

    members = np.arange(index, len(flat), count)
    padded = np.array(bounds)[np.searchsorted(bounds[:-1], flat.sizes[members])]
    dataset = tf.data.Dataset.from_tensor_slices((padded, members))
    dataset = dataset.shuffle(max(members.size, 1), seed=seed) if shuffle else dataset
    dataset = _batching.batched_by_size(dataset, batch_size, drop_remainder)
    dataset = dataset.map(batch, num_parallel_calls=tf.data.AUTOTUNE)
    lists_per_size = np.unique(padded, return_counts=True)[1]
    batches = lists_per_size // batch_size if drop_remainder else -(-lists_per_size // batch_size)
    return _batching.without_copies(dataset, int(batches.sum()))


def _boundaries(
    boundaries: Sequence[int] | None, sizes: np.ndarray, truncate: bool, *, is_padded: bool
) -> tuple[int, ...]:
    """Choose the padded sizes, or check the user's."""
    longest = int(sizes.max())
    if boundaries is None:
        shorter = _batching.POWERS if is_padded else np.unique(sizes).tolist()
        return (*(size for size in shorter if size < longest), longest)
    if not is_padded:
        raise ValueError(f"boundaries must be None with padding=None, got {boundaries!r}")
    bounds = _batching.checked_boundaries(boundaries)
    if longest > bounds[-1] and not truncate:
        raise ValueError(
            f"boundaries must hold the longest list unless truncate is True, got {bounds}, and lists[{sizes.argmax()}] "
            f"has {longest} items"
        )
    return bounds
