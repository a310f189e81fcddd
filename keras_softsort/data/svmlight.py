"""SVMlight and LETOR files."""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.data import arrays
from keras_softsort.data._ranking_dataset import RankingDataset
from keras_softsort.data.files import named

READ_BYTES = 2**23  # at a time
_DECIMAL = rb"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_LABEL = re.compile(_DECIMAL)
_QUERY = re.compile(rb"qid:([-+]?)0*(\d{1,19})")
_PAIR = re.compile(rb"\d{1,18}:" + _DECIMAL)
_PAIRS = rb"(?:%b(?:[\s\v]+|$))*" % _PAIR.pattern  # for TensorFlow, whose \s has no \v
_LARGEST_ID = 2**63 - 1  # int64, as in scikit-learn
_MAX_NUMBER = float(np.finfo(np.float32).max)
_MOST_FEATURES = 100_000  # without `num_features`: the features become a dense array
_MOST_SHOWN = 60  # characters of a part of a line in a message
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

    Use it for the public data sets of learning to rank. A line is a document: `label qid:ID index:value index:value ...
    # comment`. The ID is an integer, which may be below 0. Features that a line does not name are 0. If lines have no
    `qid:`, a second file holds the number of documents of each query in order, one per line.

    Args:
      path: the file. Names that end in `.gz` or `.bz2` are decompressed.
      num_features: number of features; `None` takes the largest index in the file, up to 100,000. Give it for files
        that belong together, since one of them may not name the last features.
      zero_based: whether indices begin at 0 instead of 1.
      query_file: path of the numbers of documents, by default `path` and `.query`. It must agree with any `qid:`.

    Returns:
      A `RankingDataset` in the order of the file, with `query_ids`, `None` if lines have none. A number beyond float32
      (Istella writes 1.8e308 for missing values) becomes the largest float32, 3.4e38.

    Raises:
      ValueError: a line is malformed, a label is NaN or below 0 (which would mark padding), a value is NaN or infinite,
        indices do not increase or exceed the number of features, the lines of a query are not consecutive, queries are
        not known, sizes do not add up to the lines, or the file has no documents. The message has file and line.
      OSError: a file cannot be read, or its compressed data are damaged or incomplete.

    Cost: linear time, and the memory of the dense features and of one block of the file.

    Example:
      >>> import pathlib, tempfile
      >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
      >>> _ = path.write_text("2 qid:7 1:0.5 3:1 # the first document of query 7\n0 qid:7 2:4\n1 qid:9 3:2\n")
      >>> ks.data.read_svmlight(path).features.tolist()
      [[0.5, 0.0, 1.0], [0.0, 4.0, 0.0], [0.0, 0.0, 2.0]]

    Source: T. Joachims, SVMlight; T. Qin, T.-Y. Liu, "Introducing LETOR 4.0 Datasets", 2013.
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
    features = arrays.zeros((end, width))
    while blocks:
        part = blocks.pop().features
        features[end - len(part) : end, : part.shape[1]] = part
        end -= len(part)
    return features


def _grouped(queries: np.ndarray, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Sizes and ids of runs of equal queries; each query must have one run."""
    starts, sizes = arrays.runs(queries)
    ids = queries[starts]
    again = np.setdiff1d(np.arange(len(ids)), np.unique(ids, return_index=True)[1])
    if again.size:
        earlier = starts[np.argmax(ids == ids[again[0]])]
        with _opened(path) as file:
            numbers = [number for number, line in enumerate(file, start=1) if _content(line)]
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


class Block(NamedTuple):
    """The lines of a block."""

    labels: np.ndarray  # [lines]
    queries: np.ndarray  # [lines] int64, or [0] if lines have none
    features: np.ndarray  # [lines, largest index]


def read_blocks(file: IO[bytes], path: Any, first: int, num_features: int | None) -> Iterator[Block]:
    """Yield the blocks of an open file, which errors name `path`. `first` is the first index."""
    with_query: Any = None  # whether each line has a `qid:`, as the first one
    before = 0
    while raw := _read_lines(file, path):
        lines = {number: text for number, line in enumerate(io.BytesIO(raw), before + 1) if (text := _content(line))}
        before += raw.count(b"\n")
        if lines and with_query is None:
            second = next(iter(lines.values())).split(None, 2)[1:2]
            with_query = any(part.startswith(b"qid:") for part in second)
        parse = functools.partial(parse_lines, with_query=with_query, first=first, num_features=num_features)
        try:
            block = parse(list(lines.values()))
        except ValueError:
            for number, line in lines.items():  # one by one, to find the first that is malformed
                with named(f"{path}, line {number}"):
                    parse([line])
            raise
        if lines:
            yield block


def _content(line: bytes) -> bytes:
    """Return a line without its comment and the spaces around it."""
    return line.partition(b"#")[0].strip()


def _read_lines(file: IO[bytes], path: Any) -> bytes:
    """Read about `READ_BYTES` of whole lines."""
    try:
        return file.read(READ_BYTES) + file.readline()
    except (EOFError, OSError, zlib.error) as error:
        raise OSError(f"{path} cannot be read or decompressed: {error}") from error


def parse_lines(lines: list[bytes], *, with_query: bool, first: int, num_features: int | None) -> Block:
    """Parse the contents of lines. A ValueError says what was expected of one of them and what was received."""
    labels, queries, pairs = [], [], []
    for line in lines:
        label, query, rest = [*line.split(None, 2), b"", b""][:3]
        labels.append(float(label) if _LABEL.fullmatch(label) else -1)
        if not 0 <= labels[-1] <= _MAX_NUMBER:
            raise ValueError(
                f"expected a label that is a finite number of at least 0 (below 0 marks padding), got {_shown(label)}"
            )
        if query.startswith(b"qid:") != with_query:
            expected = "qid:ID after the label" if with_query else "no qid:"
            raise ValueError(f"expected {expected}, as in the first line, got {_shown(query) if query else 'nothing'}")
        if with_query:
            found = _QUERY.fullmatch(query)
            queries.append(int(found[1] + found[2]) if found else _LARGEST_ID + 1)
            if not -_LARGEST_ID - 1 <= queries[-1] <= _LARGEST_ID:
                raise ValueError(f"expected an integer from -2^63 to 2^63 - 1 after qid:, got {_shown(query[4:])}")
        pairs.append(rest if with_query else b" ".join([query, rest]).strip())
    text = b" ".join(pairs).strip()
    if not np.all(tf.strings.regex_full_match(pairs, _PAIRS)):
        wrong = next(pair for pair in text.split() if not _PAIR.fullmatch(pair))
        raise ValueError(f"expected INDEX:VALUE, an integer and a finite number, got {_shown(wrong)}")
    indices, values = np.fromstring(text.replace(b":", b" "), sep=" ").reshape(-1, 2).T
    rows = np.repeat(np.arange(len(lines)), [each.count(b":") for each in pairs])
    columns = indices.astype(np.int64) - first
    before = np.where(np.diff(rows, prepend=-1) > 0, -1, np.roll(columns, 1))
    most = num_features or _MOST_FEATURES
    is_wrong = (columns <= before) | (columns >= most)
    if np.any(is_wrong):
        at = int(np.argmax(is_wrong))
        pair = _shown(text.split()[at])
        if columns[at] < 0:
            raise ValueError(f"expected indices of at least 1, got {pair}; zero_based=True allows 0")
        if columns[at] >= most:
            limit = (
                f"num_features={most} features" if num_features else f"{most} features unless num_features allows more"
            )
            raise ValueError(f"expected at most {limit}, got {pair}")
        raise ValueError(f"expected strictly increasing indices, got {pair} after {before[at] + first}")
    features = arrays.zeros((len(lines), columns.max(initial=-1) + 1))
    features[rows, columns] = np.clip(values, -_MAX_NUMBER, _MAX_NUMBER)
    return Block(np.array(labels, np.float32), np.array(queries, np.int64), features)


def _shown(part: bytes) -> str:
    text = part.decode("utf-8", "replace")
    if len(text) <= _MOST_SHOWN:
        return repr(text)
    return f"{text[:_MOST_SHOWN]!r} and {len(text) - _MOST_SHOWN} more characters"
