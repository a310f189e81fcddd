"""Data frames and Parquet files as lists."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from keras_softsort._internal.export import export
from keras_softsort.data._files import existing_files
from keras_softsort.data._ranking_dataset import RankingDataset
from keras_softsort.data._tables import Groups, Roles, Table, gathered, table

_ROWS = 2**16  # of a Parquet file, decoded at a time


@export
def from_frame(
    frame: Any,
    *,
    group: str,
    label: str | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
) -> RankingDataset:
    """Turn a table into lists: the rows with the same value in a group column are one list.

    The rows of a group need not be consecutive. Items are in the order of their rows, and lists in the order of their
    first rows.

    Args:
      frame: a pandas or polars DataFrame, a pyarrow Table or RecordBatch, or a dictionary of columns.
      group: column that identifies the lists, of any type: query ids, eras, dates, strings. It becomes `query_ids`.
      label: column of numbers. Labels may have any sign; `bucketed_batches` takes those below 0 only with
        `padding="nan_labels"` or `None`. `None` for rows to score, which have no labels.
      features: columns of numbers or booleans, in the order of the features; `None` takes all other columns.
      weight: column of item weights, at least 0; `None` for no weights.

    Returns:
      A `RankingDataset`, float32, with `feature_names`. Its `in_row_order` puts scores of its items into the order of
      the rows.

    Raises:
      TypeError: `frame` is not such a table, for example a polars LazyFrame.
      ValueError: a column is missing, used twice or does not hold numbers; a number is missing, NaN, infinite or beyond
        float32 (the message has its row); a group has no value; a weight is below 0; the table has no rows.

    Cost: linear time, and the memory of the float32 features in addition to the table.

    Example:

    >>> import keras_softsort as ks
    >>> frame = {"day": ["mon", "tue", "mon"], "price": [3.0, 2.5, 4.0], "sales": [1, 0, 2]}
    >>> lists = ks.data.from_frame(frame, group="day", label="sales")
    >>> lists.query_ids.tolist(), lists.sizes.tolist(), lists.labels.tolist(), lists.features.tolist()
    (['mon', 'tue'], [2, 1], [1.0, 2.0, 0.0], [[3.0], [4.0], [2.5]])

    New rows have no labels. One score per row, in the order of the rows:

    >>> lists = ks.data.from_frame(frame, group="day", features=["price"])
    >>> lists.in_row_order(-lists.features).tolist()
    [-3.0, -2.5, -4.0]
    """
    rows = table(frame)
    roles = Roles(rows.names, group, label, features, weight)
    if not rows.size:
        raise ValueError("frame must have at least one row, got none")
    groups = Groups(rows.column(group, slice(0, rows.size)), group)
    return gathered([rows], groups, roles)


@export
def read_parquet(
    path: str | os.PathLike | Sequence[str | os.PathLike],
    *,
    group: str,
    label: str | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
) -> RankingDataset:
    """Read lists from Parquet files: the rows with the same value in a group column are one list.

    The result is that of `from_frame`, but the table is never in memory as a whole: the group column is read first, and
    the other columns some rows at a time. Needs pyarrow (`pip install "keras-softsort[data]"`).

    Args:
      path: a file, a pattern such as `"train-*.parquet"`, or several of them with the same columns. A group may have
        rows in several files.
      group: column that identifies the lists, of any type.
      label: column of numbers; `None` for rows to score, which have no labels.
      features: columns of numbers or booleans; `None` takes all other columns.
      weight: column of item weights, at least 0; `None` for no weights.

    Returns:
      A `RankingDataset`, float32, with the lists in the order of their first rows.

    Raises:
      ImportError: pyarrow is not installed.
      ValueError: a pattern matches no file, files have different columns, or an error of `from_frame`, with rows
        counted over all files.
      OSError: a file is damaged or no Parquet file. The message has its name.

    Cost: linear time, and the memory of the float32 features, of 65,536 decoded rows and of pyarrow's buffer of a row
    group.

    Example:

    >>> import keras_softsort as ks
    >>> lists = ks.data.read_parquet("train.parquet", group="query", label="grade")  # doctest: +SKIP
    """
    try:
        from pyarrow import parquet  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise ImportError(
            'read_parquet needs pyarrow, which is not installed: pip install "keras-softsort[data]"'
        ) from error
    files = []
    for name in existing_files(path, "path"):
        with readable(name):
            files.append((name, parquet.ParquetFile(name)))
    names = files[0][1].schema_arrow.names
    for _, file in files:
        if sorted(file.schema_arrow.names) != sorted(names):
            raise ValueError(f"path must be files with the same columns, got {names} and {file.schema_arrow.names}")
    roles = Roles(names, group, label, features, weight)

    def tables(columns: list[str]) -> Iterator[Table]:
        return (table(batch) for name, file in files for batch in read_batches(file, name, columns))

    values = [part.column(group, slice(0, part.size)) for part in tables([group])]
    if not values:
        raise ValueError(f"path must have at least one row, got none in {path!r}")
    groups = Groups(np.concatenate(values), group)
    return gathered(tables(roles.numbers), groups, roles)


@contextlib.contextmanager
def readable(name: str) -> Iterator[None]:
    """Name the file in the errors of pyarrow."""
    try:
        yield
    except (ValueError, NotImplementedError, OSError) as error:
        raise OSError(f"{name} cannot be read as a Parquet file: {error}") from error


def read_batches(file: Any, name: str, columns: list[str]) -> Iterator[Any]:
    """Read some rows at a time from the open Parquet `file`, which errors call `name`."""
    with readable(name):
        for row_group in range(file.num_row_groups):  # pyarrow would buffer several of them
            yield from file.iter_batches(_ROWS, row_groups=[row_group], columns=columns)
