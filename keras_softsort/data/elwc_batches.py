"""Padded batches of ELWC records in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.data import _batching
from keras_softsort.data.elwc.parsing import RECORD_FORMATS, check_features, check_mappings, checked_records
from keras_softsort.data.files import Paths, existing_files

Files: TypeAlias = "Paths | tf.data.Dataset"
_CHUNK = 64  # records whose sizes are found at a time


@export
def elwc_batches(
    files: Files,
    context_features: Mapping[str, Any] | None,
    example_features: Mapping[str, Any],
    label: str,
    batch_size: int,
    *,
    record_format: str = "elwc",
    boundaries: Sequence[int] | None = None,
    truncate: bool = False,
    padding: str = "negative_labels",
    shuffle: bool = True,
    seed: int | None = None,
    shuffle_buffer: int = 10_000,
    drop_remainder: bool = False,
    mask: bool = False,
    shard: tuple[int, int] | None = None,
) -> tf.data.Dataset:
    """Make padded batches of records of lists for `model.fit`: features by name and labels `[batch, n]`.

    Use them for records of TF-Ranking or `write_elwc`. Lists are padded as by `bucketed_batches`. Records are streamed.
    Neither TF-Ranking nor TensorFlow Serving's API is needed.

    Args:
      files: TFRecord files: a path, a pattern such as `"train-*.tfrecord"`, or several of them. Or a `tf.data.Dataset`
        of serialized records, for compressed files and other storage.
      context_features: features of a list: a dictionary from names to `tf.io.FixedLenFeature` or
        `tf.io.FixedLenSequenceFeature`, or `None`.
      example_features: features of an item, including the label, as such a dictionary. A feature without a default
        value must be present in every item. Padding holds the default value, or 0 (the empty string) without one.
      label: name of the label in `example_features`, which must be one number per item (shape `[]` or `[1]`).
      record_format: `"elwc"`, ExampleListWithContext; `"eie"`, a `tf.train.Example` that holds the serialized context
        and examples as its features `serialized_context` and `serialized_examples`; or `"sequence_example"`, a
        `tf.train.SequenceExample`.
      batch_size, boundaries, truncate, seed, drop_remainder: as in `bucketed_batches`.
      padding: as in `bucketed_batches`, but not None. With `"negative_labels"` a label below 0 is padding, too.
      shuffle: whether the order of files and records differs from epoch to epoch.
      shuffle_buffer: number of records from which the next one is drawn, all of them in memory.
      mask: whether features hold a `"mask"` `[batch, n]`, True for items and False for padding.
      shard: `(index, count)` for worker `index` of `count`, which gets every `count`-th file if there are as many,
        otherwise every `count`-th record. A dataset as `files` must yield equal records in equal order to each worker.

    Returns:
      A `tf.data.Dataset` of pairs: a dictionary of context features `[batch, ...]` and example features
      `[batch, n, ...]`, and labels `[batch, n]`, float32. A record without examples is all padding. The number of
      batches is unknown until they are read; Keras 3 then warns after the first epoch that the input ran out of data.

    Raises:
      ValueError: there is no file, the label is not one number per item, or an error of `bucketed_batches`.
      TypeError: an argument has another type, or a feature is not dense.
      InvalidArgumentError: when iterated, a record is malformed or lacks a feature (the message has its file and
        number), or a list is longer than the last boundary without `truncate`.
      DataLossError: when iterated, a file is damaged or not a TFRecord file.

    Example:
      >>> import tempfile
      >>> files = ks.data.write_elwc([([[3.0], [9.0]], [1.0, 0.0])], tempfile.mkdtemp() + "/train", features=["price"])
      >>> spec = dict.fromkeys(["price", "label"], tf.io.FixedLenFeature([], tf.float32))
      >>> batches = ks.data.elwc_batches(files, None, spec, "label", batch_size=16, boundaries=(3,))
      >>> next(batches.as_numpy_iterator())[1].tolist()
      [[1.0, 0.0, -1.0]]
    """
    batch_size = arguments.positive_integer("batch_size", batch_size)
    shuffle_buffer = arguments.positive_integer("shuffle_buffer", shuffle_buffer)
    options = {"shuffle": shuffle, "drop_remainder": drop_remainder, "mask": mask, "truncate": truncate}
    for name, value in options.items():
        arguments.boolean(name, value)
    padded_label = _batching.padded_label(padding, optional=False)
    seed = _batching.int64_seed(seed)
    index, count = _batching.checked_shard(shard)
    bounds = _batching.POWERS if boundaries is None else _batching.checked_boundaries(boundaries)
    _, parse = RECORD_FORMATS[arguments.one_of("record_format", record_format, RECORD_FORMATS)]
    check_mappings(context_features, example_features)
    context = dict(context_features or {})
    _check_label(label, example_features)
    check_features(context, example_features)
    if mask and "mask" in {*context, *example_features}:
        raise ValueError('mask must be False if a feature has the name "mask", got True')

    def sized(records: tf.Tensor, names: tf.Tensor) -> tuple:
        def sizes_of(records: tf.Tensor, names: tf.Tensor) -> tf.Tensor:
            # TensorFlow leaves out the operations on which the sizes do not depend.
            return parse(records, context, example_features, None, names)[1]

        sizes = checked_records(record_format, sizes_of, records, names)
        if not truncate:
            message = f"boundaries must hold the longest list unless truncate is True, got {bounds}, and a list of size"
            longest = tf.argmax(sizes)
            tf.debugging.Assert(tf.reduce_all(sizes <= bounds[-1]), [message, sizes[longest], "in", names[longest]])
        places = tf.minimum(tf.searchsorted(bounds, sizes), len(bounds) - 1)
        return tf.gather(tf.constant(bounds, tf.int64), places), (records, names)

    def batch(padded: tf.Tensor, named_records: tuple[tf.Tensor, tf.Tensor]) -> tuple:
        size = bounds[0] if len(bounds) == 1 else tf.cast(padded[0], tf.int32)

        def parsed(records: tf.Tensor, names: tf.Tensor) -> tuple:
            return parse(records, context, example_features, size, names)

        features, sizes = checked_records(record_format, parsed, *named_records)
        valid = tf.sequence_mask(sizes, size)
        labels = features.pop(label)
        if labels.shape.rank == 3:
            labels = labels[..., 0]
        labels = tf.where(valid, tf.cast(labels, tf.float32), padded_label)
        return {**features, "mask": valid} if mask else features, labels

    records = _named_records(files, shuffle, seed, index, count)
    if shuffle:
        records = records.shuffle(shuffle_buffer, seed=seed)
    sizes = records.batch(_CHUNK).map(sized, num_parallel_calls=tf.data.AUTOTUNE).unbatch()
    dataset = _batching.batched_by_size(sizes, batch_size, drop_remainder)
    return dataset.map(batch, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def _named_records(files: Files, shuffle: bool, seed: int | None, index: int, count: int) -> tf.data.Dataset:
    """Pairs of a record and its name in errors."""

    def named(record_number: tf.Tensor, record: tf.Tensor, source: Any = "the dataset") -> tuple:
        return record, tf.strings.join(["record ", tf.strings.as_string(record_number), " of ", source])

    if isinstance(files, tf.data.Dataset):
        return files.enumerate().shard(count, index).map(named)
    found = existing_files(files, "files")
    by_file = len(found) >= count
    paths = tf.data.Dataset.from_tensor_slices(found).enumerate()
    if by_file:
        paths = paths.shard(count, index)
    if shuffle:
        paths = paths.shuffle(len(found), seed=seed)

    def records_of(file_number: tf.Tensor, path: tf.Tensor) -> tf.data.Dataset:
        records = tf.data.TFRecordDataset(path).enumerate()
        if not by_file:  # another worker begins in each file, so that files of one record go to different workers
            records = records.shard(count, (index + file_number) % count)
        return records.map(lambda record_number, record: named(record_number, record, path))

    return paths.interleave(records_of, cycle_length=4 if shuffle else 1)


def _check_label(label: str, example_features: Mapping[str, Any]) -> None:
    if not isinstance(label, str) or label not in example_features:
        hint = "; its specification belongs into example_features" if isinstance(label, (tuple, list)) else ""
        raise ValueError(f"label must be one of example_features, {sorted(example_features)}, got {label!r}{hint}")
    spec = example_features[label]
    if list(getattr(spec, "shape", [None])) not in ([], [1]) or spec.dtype == tf.string:
        raise ValueError(f"label must be one number per item, of shape [] or [1], got {spec}")
