"""SVMlight and LETOR files as lists."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.beam._grouped_files import GroupedFiles
from keras_softsort.data import RankingDataset
from keras_softsort.data._arrays import runs
from keras_softsort.data._svmlight.blocks import read_blocks


@export
class ReadSVMlight(GroupedFiles):
    """Read lists from SVMlight or LETOR files: elements `(query, (features [n, f], labels [n]))`.

    The lines with the same `qid:` are one list, in the order of file names and lines, even if they are in several
    files. Each file is read by one worker, so the number of files limits the number of readers.

    Args:
      pattern: a path or a pattern such as `"gs://bucket/train-*.txt"`. `.gz` and `.bz2` are decompressed.
      num_features: number of features f.
      zero_based: whether indices begin at 0 instead of 1.

    Raises:
      ValueError: in the pipeline, a line is malformed or has no `qid:`. The message is that of
        `ks.data.read_svmlight`.
      BeamIOError: in the pipeline, the pattern matches no file.

    Example:

    >>> import apache_beam as beam  # doctest: +SKIP
    >>> from keras_softsort.beam import ReadSVMlight, WriteELWC  # doctest: +SKIP
    >>> with beam.Pipeline() as pipeline:  # doctest: +SKIP
    ...     _ = pipeline | ReadSVMlight("train-*.txt", num_features=136) | WriteELWC("train.tfrecord", shards=8)
    """

    def __init__(self, pattern: str, *, num_features: int, zero_based: bool = False) -> None:
        first = 0 if arguments.boolean("zero_based", zero_based) else 1
        width = arguments.positive_integer("num_features", num_features)
        super().__init__(pattern, functools.partial(_read, first=first, num_features=width))


def _read(file: Any, first: int, num_features: int) -> Iterator[RankingDataset]:
    with file.open() as opened:
        for block in read_blocks(opened, file.metadata.path, first, num_features):
            if not len(block.queries):
                raise ValueError(f"{file.metadata.path} must name the query of each line by qid:, got a line without")
            starts, sizes = runs(block.queries)
            features = np.pad(block.features, [(0, 0), (0, num_features - block.features.shape[1])])
            yield RankingDataset(features, block.labels, sizes, block.queries[starts])
