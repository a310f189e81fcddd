"""SVMlight, LETOR and Parquet files as lists, whose rows are grouped by query, also across files."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
from apache_beam.io import fileio
from apache_beam.io.filesystem import CompressionTypes
from pyarrow import parquet

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.data import RankingDataset, from_frame
from keras_softsort.data.arrays import runs
from keras_softsort.data.files import named
from keras_softsort.data.svmlight import read_blocks
from keras_softsort.data.tables import Roles, read_batches, readable, stored_index

_Piece = tuple[str, int, tuple[np.ndarray, ...]]  # file, number in it, columns


class GroupedFiles(beam.PTransform):
    """Make elements `(query, (features [n, f], labels [n][, weights [n]]))` from what `read` yields for each file."""

    def __init__(self, pattern: str, read: Callable[[Any], Iterator[RankingDataset]]) -> None:
        super().__init__()
        self._pattern, self._read = pattern, read

    def expand(self, pipeline: Any) -> Any:
        """Read each file on one worker, and join the rows of each query on one worker."""
        none = fileio.EmptyMatchTreatment.DISALLOW
        files = pipeline | fileio.MatchFiles(self._pattern, none) | fileio.ReadMatches() | beam.Reshuffle()
        return files | beam.FlatMap(_pieces, self._read) | beam.GroupByKey() | beam.MapTuple(_joined)


def _pieces(file: Any, read: Callable[[Any], Iterator[RankingDataset]]) -> Iterator[tuple[Any, _Piece]]:
    numbers = itertools.count()
    for lists in read(file):
        ids: Any = lists.query_ids
        for query, parts in zip(ids.tolist(), lists, strict=True):
            yield query, (file.metadata.path, next(numbers), parts)


def _joined(query: Any, pieces: Iterable[_Piece]) -> tuple[Any, tuple[np.ndarray, ...]]:
    in_order = sorted(pieces, key=lambda piece: piece[:2])
    return query, tuple(map(np.concatenate, zip(*(parts for _, _, parts in in_order), strict=True)))


@export
class ReadSVMlight(GroupedFiles):
    """Read lists from SVMlight or LETOR files: elements `(query, (features [n, f], labels [n]))`.

    For files that one machine reads too slowly. The lines with the same `qid:` are one list, in the order of file names
    and lines, even if they are in several files. Each file is read by one worker, so the number of files limits the
    number of readers.

    Args:
      pattern: a path or a pattern such as `"gs://bucket/train-*.txt"`. `.gz` and `.bz2` are decompressed.
      num_features: number of features f.
      zero_based: whether indices begin at 0 instead of 1.

    Raises:
      ValueError: in the pipeline, a line is malformed or has no `qid:`. The message is that of `ks.data.read_svmlight`.
      BeamIOError: in the pipeline, the pattern matches no file.

    Example:
      >>> from keras_softsort.beam import ReadSVMlight, WriteELWC  # doctest: +SKIP
      >>> ReadSVMlight("train-*.txt", num_features=136) | WriteELWC("train.tfrecord", shards=8)  # doctest: +SKIP
    """

    def __init__(self, pattern: str, *, num_features: int, zero_based: bool = False) -> None:
        first = 0 if arguments.boolean("zero_based", zero_based) else 1
        width = arguments.positive_integer("num_features", num_features)
        super().__init__(pattern, functools.partial(_read_svmlight, first=first, num_features=width))


def _read_svmlight(file: Any, first: int, num_features: int) -> Iterator[RankingDataset]:
    with file.open() as opened:
        for block in read_blocks(opened, file.metadata.path, first, num_features):
            if not len(block.queries):
                raise ValueError(f"{file.metadata.path} must name the query of each line by qid:, got a line without")
            starts, sizes = runs(block.queries)
            features = np.pad(block.features, [(0, 0), (0, num_features - block.features.shape[1])])
            yield RankingDataset(features, block.labels, sizes, block.queries[starts])


@export
class ReadParquet(GroupedFiles):
    """Read lists from Parquet files: elements `(group, (features [n, f], labels [n][, weights [n]]))`.

    For tables that one machine reads too slowly. Rows with one value in the group column are a list, as in
    `ReadSVMlight`.

    Args:
      pattern: a path or a pattern such as `"gs://bucket/train-*.parquet"`.
      group: column of integers or strings that identifies lists.
      label: column of numbers.
      features: columns of numbers or booleans; `None` takes all other columns but a stored pandas index.
      weight: column of item weights, at least 0; `None` for no weights.

    Raises:
      ValueError: in the pipeline, as for `ks.data.from_frame`. The message has the file.
      OSError, BeamIOError: in the pipeline, a file is damaged or no Parquet file; the pattern matches no file.

    Example:
      >>> from keras_softsort.beam import ReadParquet, WriteELWC  # doctest: +SKIP
      >>> ReadParquet("day.parquet", group="query", label="clicks") | WriteELWC("train.tfrecord")  # doctest: +SKIP
    """

    def __init__(
        self, pattern: str, *, group: str, label: str, features: Sequence[str] | None = None, weight: str | None = None
    ) -> None:
        roles = {"group": group, "label": label, "features": features, "weight": weight}
        super().__init__(pattern, functools.partial(_read_parquet, roles=roles))


def _read_parquet(file: Any, roles: dict[str, Any]) -> Iterator[RankingDataset]:
    path, first = file.metadata.path, 0
    with file.open(compression_type=CompressionTypes.UNCOMPRESSED) as opened:
        with readable(path):
            source = parquet.ParquetFile(opened)
        with named(path):
            schema = source.schema_arrow
            found = Roles(schema.names, **roles, stored_index=stored_index(schema))
        for part in read_batches(source, path, [found.group, *found.numbers]):
            with named(f"{path}, rows from {first} on"):
                lists = from_frame(part, **roles)
            yield lists
            first += len(part)
