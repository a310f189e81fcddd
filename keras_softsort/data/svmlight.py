"""SVMlight and LETOR files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from keras_softsort._internal import arguments
from keras_softsort.data._ranking_dataset import RankingDataset
from keras_softsort.data._svmlight_block import Block, parse_block
from keras_softsort.data._svmlight_lines import Rules, complaint, content, has_query

BLOCK = 2**23  # bytes that are read at a time


def read_svmlight(
    path: str | os.PathLike,
    *,
    num_features: int | None = None,
    zero_based: bool = False,
    query_file: str | os.PathLike | None = None,
) -> RankingDataset:
    r"""The judged lists of an SVMlight or LETOR file: MSLR-WEB30K, Istella, Yahoo and the like, as distributed.

    A line is a document: `label qid:ID index:value index:value ... # comment`. Features that a line does not name are
    0. Lines that hold nothing but a comment are passed over. Where lines have no `qid:`, a second file has the number
    of documents of each query in order, one a line; by default it has the name of the first with `.query` after it.

    Args:
      path: of the file.
      num_features: how many features there are; `None` takes the largest index that comes. To be given for files that
        belong together, since one of them may not name the last features.
      zero_based: whether indices begin at 0 and not at 1.
      query_file: path of the numbers of documents. Where lines have `qid:`, they must agree with such a file.

    Returns:
      a `RankingDataset` in the order of the file: `features` `[documents, f]`, `labels` `[documents]`, `sizes`
      `[queries]` and `query_ids` `[queries]` (`None` without `qid:`). Numbers are float32; one that is
      beyond float32 (Istella has 1.8e308 for what is missing) becomes its largest, 3.4e38.

    Raises:
      ValueError: a line that is not as above, a label that is NaN or below 0 (which would be padding), a value that is
        NaN or infinite, indices that do not ascend or are outside `num_features`, a `qid:` in some lines alone, a query
        whose lines do not stand together, no way to tell queries apart, sizes that do not fit the lines, a file without
        lines. The message has the file, the line, what was expected and what came.
      OSError: a file that cannot be read.

    Cost: about two thirds of the time of scikit-learn's `load_svmlight_file`, and the memory of the dense features.

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
    if num_features is not None:
        num_features = arguments.positive_integer("num_features", num_features)
    blocks = list(_blocks(path, 0 if arguments.boolean("zero_based", zero_based) else 1, num_features))
    if not blocks:
        raise ValueError(f"{path} must hold a document at least, got none")
    labels = np.concatenate([block.labels for block in blocks])
    queries = np.concatenate([block.queries for block in blocks])
    parts = [block.features for block in blocks]
    del blocks  # lest their features stay beside the stacked ones
    features = _stacked(parts, num_features)
    counted = _counted(Path(query_file or f"{path}.query"), len(labels), path, wanted=query_file is not None)
    if not len(queries):
        if counted is None:
            raise ValueError(f"{path} must tell queries by qid: in its lines or by a file {path}.query, got neither")
        return RankingDataset(features, labels, counted)
    sizes, ids = _grouped(queries, path)
    if counted is not None and not np.array_equal(sizes, counted):
        raise ValueError(
            f"{query_file or f'{path}.query'} must agree with the {len(sizes)} queries that qid: tells in {path}, "
            f"got {len(counted)} sizes that are others"
        )
    return RankingDataset(features, labels, sizes, ids)


def _blocks(path: Path, first: int, num_features: int | None) -> Iterator[Block]:
    rules, lines = None, 0
    with path.open("rb") as file:
        while raw := file.read(BLOCK) + file.readline():
            text = _plain(raw)
            if text:
                if rules is None:
                    rules = Rules(has_query(text.partition(b"\n")[0].split()), first, num_features)
                block = parse_block(text, rules)
                if block is None:
                    raise ValueError(f"{path}, {_first_complaint(raw, lines, rules)}")
                yield block
            lines += raw.count(b"\n")


def _plain(text: bytes) -> bytes:
    """`text` without comments and empty lines, with one space where there is space, each line ended."""
    if b"#" in text:
        text = re.sub(rb"#[^\n]*", b"", text)
    text = text.translate(bytes.maketrans(b"\t\r\v\f", b"    "))
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n")
    while b"\n\n" in text:
        text = text.replace(b"\n\n", b"\n")
    text = text.strip(b" \n")
    return text and text + b"\n"


def _first_complaint(raw: bytes, before: int, rules: Rules) -> str:
    """What is wrong with the first wrong line, with its number; `before` lines stand before these."""
    lines = raw.split(b"\n")
    for number, line in enumerate(lines, start=before + 1):
        parts = content(line)
        wrong = complaint(parts, rules) if parts else None
        if wrong:
            return f"line {number}: {wrong}"
    return f"lines {before + 1} to {before + len(lines)}: expected lines `label qid:ID index:value ...`"


def _stacked(parts: list[np.ndarray], num_features: int | None) -> np.ndarray:
    """All features; the parts are given up one by one, so that memory holds them once."""
    width = num_features or max(part.shape[1] for part in parts)
    features = np.zeros([sum(map(len, parts)), width], np.float32)
    start = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        features[start : start + len(part), : part.shape[1]] = part
        start += len(part)
    return features


def _grouped(queries: np.ndarray, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Sizes and identities of runs of equal queries; each query has but one."""
    starts = np.flatnonzero(np.concatenate([[True], np.diff(queries) != 0]))
    ids, inverse = queries[starts], np.unique(queries[starts], return_index=True)[1]
    again = np.setdiff1d(np.arange(len(ids)), inverse)
    if again.size:
        earlier = starts[np.argmax(ids == ids[again[0]])]
        with path.open("rb") as file:
            numbers = [number for number, line in enumerate(file, start=1) if content(line)]
        raise ValueError(
            f"{path}, line {numbers[starts[again[0]]]}: expected the lines of each query to stand together, got "
            f"qid:{ids[again[0]]} again, which began in line {numbers[earlier]}"
        )
    return np.diff(starts, append=len(queries)), ids


def _counted(path: Path, documents: int, judged: Path, wanted: bool) -> np.ndarray | None:
    """The sizes that the file at `path` has; `None` if there is no such file and none is `wanted`."""
    if not wanted and not path.exists():
        return None
    sizes = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if line.strip():
            if not re.fullmatch(rb"0*[1-9]\d{0,17}", line.strip()):
                raise ValueError(f"{path}, line {number}: expected a number of documents, at least 1, got {line!r}")
            sizes.append(int(line))
    if sum(sizes) != documents:
        raise ValueError(f"{path} must add up to the {documents} documents of {judged}, got {sum(sizes)}")
    return np.array(sizes, np.int64)
