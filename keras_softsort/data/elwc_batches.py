"""ELWC records in files to padded batches."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.data import _buckets
from keras_softsort.data._elwc import count_examples, parse_elwc

Files: TypeAlias = "str | os.PathLike | Sequence[str | os.PathLike] | tf.data.Dataset"


def elwc_batches(
    files: Files,
    context_features: Mapping[str, Any] | None,
    example_features: Mapping[str, Any],
    label: str,
    batch_size: int,
    *,
    boundaries: Sequence[int] | None = None,
    truncate: bool = False,
    shuffle: bool = True,
    seed: int | None = None,
    shuffle_buffer: int = 10_000,
    drop_remainder: bool = False,
    mask: bool = False,
) -> tf.data.Dataset:
    r"""Batches for `model.fit` of ExampleListWithContext records: features by name, and labels `[batch, n]`.

    Each list is padded to the smallest of a few sizes n that holds it, and a batch is made of lists of one padded size,
    as by `bucketed_batches`. Neither TF-Ranking nor TensorFlow Serving's API is needed.

    Args:
      files: TFRecord files: a path, a pattern such as `"train-*.tfrecord"`, or several of them. Or a
        `tf.data.Dataset` of serialized records, for what is compressed or stored otherwise.
      context_features: by name, the `tf.io.FixedLenFeature` or `tf.io.FixedLenSequenceFeature` of a list; `None` for
        none.
      example_features: the same of each item, the label among them. A feature without a default value must be in every
        item; padding is the default value, or 0 (the empty string).
      label: which of `example_features` is the label: a number an item (shape `[]` or `[1]`). One below 0, in the
        record or by default, makes its item padding to losses and metrics, as in TF-Ranking.
      batch_size: lists in a batch.
      boundaries: the padded sizes, ascending; `None` for the powers of 2 from 8 on.
      truncate: what is done with a list that is longer than the last of `boundaries`: with False it is an error, with
        True its first items are kept, as they stand.
      shuffle: whether files and records come in another order in each epoch.
      seed: of that order; `None` takes TensorFlow's global seed (`keras.utils.set_random_seed`).
      shuffle_buffer: how many records the next one is drawn from.
      drop_remainder: whether batches that are not full are left out, so that `batch` is static.
      mask: whether features hold a `"mask"` `[batch, n]`, True for items and False for padding.

    Returns:
      A `tf.data.Dataset` of pairs: a dictionary of context features `[batch, ...]` and example features
      `[batch, n, ...]`, which a model with inputs of these names takes; and labels `[batch, n]`, float32, -1 in the
      padding. A record without examples is padding throughout. How many batches there are is not known before they
      are read; Keras 3 says so after the first epoch with a warning that the input ran out of data.

    Raises:
      ValueError: files that are not there, a label that is no number an item, and what `bucketed_batches` raises.
      TypeError: an argument of another type, a feature that would not be dense.
      InvalidArgumentError, DataLossError: when iterated, a record that is malformed or has no such features, or a list
        longer than the last boundary without `truncate`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> item = lambda **numbers: tf.train.Example(features=tf.train.Features(feature={
    ...     name: tf.train.Feature(float_list=tf.train.FloatList(value=[x])) for name, x in numbers.items()
    ... })).SerializeToString()
    >>> items = [item(price=3.0, clicks=1.0), item(price=9.0, clicks=0.0)]
    >>> record = b"".join(b"\n" + bytes([len(one)]) + one for one in items)  # as ExampleListWithContext writes it
    >>> number = tf.io.FixedLenFeature([], tf.float32)
    >>> batches = ks.data.elwc_batches(
    ...     tf.data.Dataset.from_tensors(record), None, {"price": number, "clicks": number}, "clicks", batch_size=16,
    ...     boundaries=(3,)
    ... )
    >>> features, labels = next(batches.as_numpy_iterator())
    >>> features["price"].tolist(), labels.tolist()
    ([[3.0, 9.0, 0.0]], [[1.0, 0.0, -1.0]])
    """
    batch_size = arguments.positive_integer("batch_size", batch_size)
    shuffle_buffer = arguments.positive_integer("shuffle_buffer", shuffle_buffer)
    for name, value in (("shuffle", shuffle), ("drop_remainder", drop_remainder), ("mask", mask)):
        arguments.boolean(name, value)
    bounds = _buckets.POWERS if boundaries is None else _buckets.checked_boundaries(boundaries)
    arguments.boolean("truncate", truncate)
    _check_label(label, example_features)
    if mask and "mask" in {*(context_features or {}), *example_features}:
        raise ValueError('mask must be False where a feature has the name "mask"')

    def sized(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        size = count_examples(record[tf.newaxis])[0]
        if not truncate:
            longer = f"boundaries must hold the longest list unless truncate is True, got {bounds}, and a list of size"
            tf.debugging.Assert(size <= bounds[-1], [longer, size])
        return _buckets.padded_size(size, bounds), record

    def batch(size: tf.Tensor, records: tf.Tensor) -> tuple:
        size = _buckets.static_size(tf.cast(size, tf.int32), bounds)
        features, sizes = parse_elwc(records, context_features, example_features, list_size=size)
        kept = tf.sequence_mask(sizes, size)
        judged = features.pop(label)
        if judged.shape.rank == 3:
            judged = judged[..., 0]
        labels = tf.where(kept, tf.cast(judged, tf.float32), -1)
        return {**features, "mask": kept} if mask else features, labels

    records = _records(files, shuffle, seed)
    if shuffle:
        records = records.shuffle(shuffle_buffer, seed=seed)
    dataset = _buckets.batched_by_size(
        records.map(sized, num_parallel_calls=tf.data.AUTOTUNE), batch_size, drop_remainder
    )
    return dataset.map(batch, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def _records(files: Files, shuffle: bool, seed: int | None) -> tf.data.Dataset:
    if isinstance(files, tf.data.Dataset):
        return files
    patterns = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    found = []
    for pattern in patterns:
        matches = sorted(tf.io.gfile.glob(os.fspath(pattern)))
        if not matches:
            raise ValueError(f"files must be there, got {os.fspath(pattern)!r}, which matches none")
        found += matches
    paths = tf.data.Dataset.from_tensor_slices(found)
    if shuffle:
        paths = paths.shuffle(len(found), seed=seed)
    return paths.interleave(tf.data.TFRecordDataset, cycle_length=4 if shuffle else 1)


def _check_label(label: str, example_features: Mapping[str, Any]) -> None:
    if label not in example_features:
        raise ValueError(f"label must be one of example_features, {sorted(example_features)}, got {label!r}")
    spec = example_features[label]
    if list(getattr(spec, "shape", [None])) not in ([], [1]) or spec.dtype == tf.string:
        raise ValueError(f"label must be a number an item, of shape [] or [1], got {spec}")
