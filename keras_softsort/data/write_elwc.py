"""Lists as ELWC records in files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.data._ranking_dataset import RankingDataset
from keras_softsort.data.elwc.records import Records
from keras_softsort.data.files import folder_aside


@export
def write_elwc(
    lists: RankingDataset | Iterable[tuple[Any, ...]],
    path: str | os.PathLike,
    *,
    shards: int = 1,
    features: str | Sequence[str] = "features",
    label: str = "label",
    weight: str = "weight",
) -> list[str]:
    """Write lists to TFRecord files of ExampleListWithContext, which `elwc_batches` and TF-Ranking read.

    Use it for data that TensorFlow streams, or that TF-Ranking reads. Each item becomes an example with float features:
    those named by `features`, `label`, and `weight` if there are weights. The context has `query_id` if a
    `RankingDataset` has ids: an integer, or a string for ids of another type. Numbers are rounded to float32. A crash
    leaves no partial shard: files get their names when all are complete.

    Args:
      lists: a `RankingDataset`, or an iterable of tuples: features `[n, f]`, labels `[n]` and perhaps weights `[n]`,
        read once, with one list at a time in memory.
      path: name of the file. Several shards are `path-00000-of-00004` and so on. A missing folder is created.
      shards: number of files. List i goes to file i modulo `shards`.
      features: the name of one feature of length f, or names of f features of length 1, one per column.
      label, weight: the names of the label and the weight in the records.

    Returns:
      The names of the files.

    Raises:
      ValueError: there is no list, lists have different numbers of features, a number exceeds float32, an integer id
        exceeds int64 (as unsigned hashes do: make text of all ids by `ids.astype(str)`), there are not f distinct
        names, or the path has `*`, `?` or `[`.
      TypeError: an argument has another type.
      FileExistsError: a file of this name or a shard of it exists; a reader of `path-*` would mix it with these.

    Example:
      >>> import pathlib, tempfile
      >>> lists = ks.data.RankingDataset([[0.5], [0.2], [0.9]], [1, 0, 2], sizes=[2, 1], query_ids=[7, 9])
      >>> files = ks.data.write_elwc(lists, tempfile.mkdtemp() + "/train", shards=2)
      >>> [pathlib.Path(file).name for file in files]
      ['train-00000-of-00002', 'train-00001-of-00002']
    """
    shards = arguments.positive_integer("shards", shards)
    base = os.fspath(path)
    names = [base] if shards == 1 else [f"{base}-{i:05}-of-{shards:05}" for i in range(shards)]
    with folder_aside(base) as folder:
        aside = [f"{folder}/{i}" for i in range(shards)]
        with contextlib.ExitStack() as stack:
            writers = [stack.enter_context(tf.io.TFRecordWriter(name)) for name in aside]
            for i, record in enumerate(Records(features, label, weight).of_lists(lists)):
                writers[i % shards].write(record)
        for old, new in zip(aside, names, strict=True):
            tf.io.gfile.rename(old, new)
    return names
