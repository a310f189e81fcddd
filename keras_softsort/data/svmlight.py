"""SVMlight and LETOR files."""

from __future__ import annotations

import bz2
import gzip
import os
import re
from pathlib import Path
from typing import IO, Any

import numpy as np

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.data import _arrays
from keras_softsort.data._ranking_dataset import RankingDataset
from keras_softsort.data._svmlight import Block, content, read_blocks

_COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}


@export
def read_svmlight(
    path: str | os.PathLike,
    *,
    num_features: int | None = None,
    zero_based: bool = False,
    query_file: str | os.PathLike | None = None,
) -> RankingDataset:
    r"""Read the lists of an SVMlight or LETOR file: MSLR-WEB30K, Istella, Yahoo and the like, as distributed.

    A line is a document: `label qid:ID index:value index:value ... # comment`. The ID is an integer, which may be below
    0. Features that a line does not name are 0. Lines with nothing but a comment are skipped. If lines have no `qid:`,
    a second file holds the number of documents of each query in order, one per line. By default it has the name of the
    first file followed by `.query`.

    Args:
      path: the file. Names that end in `.gz` or `.bz2` are decompressed.
      num_features: number of features. `None` takes the largest index in the file, which may be up to 100,000. Give it
        for files that belong together, since one of them may not name the last features.
      zero_based: whether indices begin at 0 instead of 1.
      query_file: path of the numbers of documents. If lines have `qid:`, the file must agree with them.

    Returns:
      A `RankingDataset` in the order of the file: `features` `[documents, f]`, `labels` `[documents]`, `sizes`
      `[queries]` and `query_ids` `[queries]`, int64 (`None` without `qid:`). Numbers are float32. A number beyond
      float32 (Istella writes 1.8e308 for missing values) becomes the largest float32, 3.4e38.

    Raises:
      ValueError: a line is malformed, a label is NaN or below 0 (which would mark padding), a value is NaN or infinite,
        indices do not increase or exceed the number of features, a query id exceeds int64, only some lines have `qid:`,
        the lines of a query are not consecutive, there is neither a `qid:` nor a query file, sizes do not add up to the
        lines, or the file has no documents. The message names the file, the line, what was expected and what was
        received.
      OSError: a file cannot be read, or its compressed data are damaged or incomplete.

    Cost: linear time, and the memory of the dense features and of one block of the file
    (`benchmarks/results/data_reading.md` has measurements).

    Example:

    >>> import pathlib, tempfile
    >>> import keras_softsort as ks
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = path.write_text("2 qid:7 1:0.5 3:1 # the first document of query 7\n0 qid:7 2:4\n1 qid:9 3:2\n")
    >>> lists = ks.data.read_svmlight(path)
    >>> lists.sizes.tolist(), lists.query_ids.tolist(), lists.labels.tolist()
    ([2, 1], [7, 9], [2.0, 0.0, 1.0])
    >>> lists.features.tolist()
    [[0.5, 0.0, 1.0], [0.0, 4.0, 0.0], [0.0, 0.0, 2.0]]

    Source: the format of T. Joachims' SVMlight and of LETOR (T. Qin, T.-Y. Liu, "Introducing LETOR 4.0 Datasets",
    2013); the file of sizes is LightGBM's.
    """
    path = Path(path)
    num_features = arguments.optional_positive_integer("num_features", num_features)
    with _opened(path) as file:
        blocks = list(read_blocks(file, path, 0 if arguments.boolean("zero_based", zero_based) else 1, num_features))
    if not blocks:
        raise ValueError(f"{path} must hold at least one document, got none")
    labels = np.concatenate([block.labels for block in blocks])
    queries = np.concatenate([block.queries for block in blocks])
    features = _stacked(blocks, num_features)
    sizes_path = Path(query_file or f"{path.with_suffix('') if path.suffix in _COMPRESSED else path}.query")
    counted = _counted(sizes_path, len(labels), path) if query_file is not None or sizes_path.exists() else None
    if not len(queries):
        if counted is None:
            raise ValueError(f"{path} must name queries by qid: in its lines or by a file {sizes_path}, got neither")
        return RankingDataset(features, labels, counted)
    sizes, ids = _grouped(queries, path)
    if counted is not None and not np.array_equal(sizes, counted):
        raise ValueError(
            f"{sizes_path} must agree with the {len(sizes)} queries that qid: marks in {path}, "
            f"got {len(counted)} sizes that differ"
        )
    return RankingDataset(features, labels, sizes, ids)


def _opened(path: Path) -> IO[bytes]:
    return _COMPRESSED.get(path.suffix, open)(path, "rb")


def _stacked(blocks: list[Block], num_features: int | None) -> np.ndarray:
    """Stack the features of `blocks`, which are removed one by one, so that memory holds features once."""
    width = num_features or max(block.features.shape[1] for block in blocks)
    end = sum(len(block.features) for block in blocks)
    features = _arrays.zeros((end, width))
    while blocks:
        part = blocks.pop().features
        features[end - len(part) : end, : part.shape[1]] = part
        end -= len(part)
    return features


def _grouped(queries: np.ndarray, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Sizes and ids of runs of equal queries; each query must have one run."""
    starts, sizes = _arrays.runs(queries)
    ids, inverse = queries[starts], np.unique(queries[starts], return_index=True)[1]
    again = np.setdiff1d(np.arange(len(ids)), inverse)
    if again.size:
        earlier = starts[np.argmax(ids == ids[again[0]])]
        with _opened(path) as file:
            numbers = [number for number, line in enumerate(file, start=1) if content(line)]
        raise ValueError(
            f"{path}, line {numbers[starts[again[0]]]}: expected the lines of each query to be consecutive, got "
            f"qid:{ids[again[0]]} again, which began in line {numbers[earlier]}"
        )
    return sizes, ids


def _counted(path: Path, documents: int, judged: Path) -> np.ndarray:
    """Read the sizes in the file at `path`."""
    sizes = []
    with _opened(path) as file:
        for number, line in enumerate(file.read().splitlines(), start=1):
            if not line.strip():
                continue
            if not re.fullmatch(rb"0*[1-9]\d{0,17}", line.strip()):
                raise ValueError(f"{path}, line {number}: expected a number of documents, at least 1, got {line!r}")
            sizes.append(int(line))
    if sum(sizes) != documents:
        raise ValueError(f"{path} must add up to the {documents} documents of {judged}, got {sum(sizes)}")
    return np.array(sizes, np.int64)
