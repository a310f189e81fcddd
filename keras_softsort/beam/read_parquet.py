"""Parquet files as lists."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import Any

from apache_beam.io.filesystem import CompressionTypes
from pyarrow import parquet

from keras_softsort._internal.export import export
from keras_softsort.beam._grouped_files import GroupedFiles
from keras_softsort.data import RankingDataset
from keras_softsort.data._tables.frames import table
from keras_softsort.data._tables.grouping import Groups, Roles, gathered
from keras_softsort.data.parquet import read_batches, readable

_ROWS = 2**14  # number of rows that are decoded at a time


@export
class ReadParquet(GroupedFiles):
    """Read lists from Parquet files: elements `(group, (features [n, f], labels [n][, weights [n]]))`.

    The rows with the same value in the group column are one list, in the order of file names and rows, even if they are
    in several files. Each file is read by one worker.

    Args:
      pattern: a path or a pattern such as `"gs://bucket/train-*.parquet"`.
      group: column of integers or strings that identifies lists.
      label: column of numbers.
      features: columns of numbers or booleans; `None` takes all other columns.
      weight: column of item weights, at least 0; `None` for no weights.

    Raises:
      ValueError: in the pipeline, as for `ks.data.from_frame`. The message has the file.
      OSError: in the pipeline, a file is damaged or no Parquet file.
      BeamIOError: in the pipeline, the pattern matches no file.

    Example:

    >>> import apache_beam as beam  # doctest: +SKIP
    >>> from keras_softsort.beam import ReadParquet, WriteELWC  # doctest: +SKIP
    >>> with beam.Pipeline() as pipeline:  # doctest: +SKIP
    ...     _ = pipeline | ReadParquet("day.parquet", group="query", label="clicks") | WriteELWC("train.tfrecord")
    """

    def __init__(
        self, pattern: str, *, group: str, label: str, features: Sequence[str] | None = None, weight: str | None = None
    ) -> None:
        roles = {"group": group, "label": label, "features": features, "weight": weight}
        super().__init__(pattern, functools.partial(_read, roles=roles))


def _read(file: Any, roles: dict[str, Any]) -> Iterator[RankingDataset]:
    path, first = file.metadata.path, 0
    with file.open(compression_type=CompressionTypes.UNCOMPRESSED) as opened:
        with readable(path):
            source = parquet.ParquetFile(opened)
        with _named(path):
            found = Roles(source.schema_arrow.names, **roles)
        for part in map(table, read_batches(source, path, _ROWS, columns=[found.group, *found.numbers])):
            with _named(f"{path}, rows from {first} on"):
                groups = Groups(part.column(found.group, slice(0, part.size)), found.group)
                lists = gathered([part], groups, found)
            yield lists
            first += part.size


@contextlib.contextmanager
def _named(place: str) -> Iterator[None]:
    """Name the place in the errors of tables, which count rows from it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error
