"""The rows of a data frame as ELWC records in files."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd
import tensorflow as tf
from pyspark import TaskContext

from keras_softsort._internal.export import export
from keras_softsort.data import RankingDataset
from keras_softsort.data.arrays import runs
from keras_softsort.data.elwc.records import Records
from keras_softsort.data.files import folder_aside
from keras_softsort.spark._lists import by_group, matrix, whole_groups


@export
def write_elwc(
    frame: Any, path: str | os.PathLike, *, group: str, label: str, features: Sequence[str], weight: str | None = None
) -> list[str]:
    """Write groups of rows as TFRecord files of ExampleListWithContext, which `ks.data.elwc_batches` reads.

    For frames that one machine does not hold; `ks.data.write_elwc` writes lists that it does. Each group is a list,
    with one feature `features` `[f]`, `label`, and `weight` if it is named. Its id `query_id` is an integer, or a
    string for groups of another type. Files get their names when all tasks are complete, so tasks that died or were
    retried leave nothing behind. These names are returned.

    Args:
      frame, group, features: as in `score`; the features may have any order.
      path: the beginning of the names, `path-00000-of-00004` and so on, on a file system that the driver and all
        executors share. Each partition becomes a file.
      label: column of numbers.
      weight: column of item weights, at least 0; `None` for no weights.

    Raises:
      ValueError: `frame` lacks a column or has no rows, or `path` has `*`, `?` or `[`. In the job: a row has no group,
        a column does not hold numbers or has one beyond float32, or a label is not finite.
      TypeError: `features` is one string.
      FileExistsError: a file of this name or a shard of it exists.

    Cost: as in `score`.

    Example:
      >>> from keras_softsort import spark  # doctest: +SKIP
      >>> frame = session.read.parquet("judged")  # doctest: +SKIP
      >>> spark.write_elwc(frame, "train", group="query", label="grade", features=["x", "y"])  # doctest: +SKIP
      ['train-00000-of-00002', 'train-00001-of-00002']
    """
    base = os.fspath(path)
    columns = {"group": group, "label": label, "features": features, **({} if weight is None else {"weight": weight})}
    rows = by_group(frame, columns)
    with folder_aside(base) as folder:

        def written(frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
            yield from _written(frames, folder, columns)

        found = sorted(tuple(row) for row in rows.mapInPandas(written, "partition long, file string").collect())
        if not found:
            raise ValueError("frame must hold at least one row, got none")
        names = [f"{base}-{i:05}-of-{len(found):05}" for i in range(len(found))]
        for (_, old), new in zip(found, names, strict=True):
            tf.io.gfile.rename(old, new)
    return names


def _written(frames: Iterable[pd.DataFrame], folder: str, columns: dict[str, Any]) -> Iterator[pd.DataFrame]:
    """Write the file of a partition, and yield its name when it is complete."""
    name, records, file = f"{folder}/{uuid.uuid4().hex}", Records("features"), None
    for frame in whole_groups(frames, columns["group"]):
        file = file or tf.io.TFRecordWriter(name)
        groups = frame[columns["group"]].to_numpy()
        starts, sizes = runs(groups)
        labels, *weights = (matrix(frame, [columns[role]])[:, 0] for role in ("label", "weight") if role in columns)
        features = matrix(frame, columns["features"])
        lists = RankingDataset(features, labels, sizes, groups[starts], weights[0] if weights else None)
        for record in records.of_lists(lists):
            file.write(record)
    if file is not None:
        file.close()
        context: Any = TaskContext.get()
        yield pd.DataFrame({"partition": [context.partitionId()], "file": [name]})
