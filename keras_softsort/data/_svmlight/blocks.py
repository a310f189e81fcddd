"""An SVMlight file read in blocks of whole lines, each parsed at once by TensorFlow's operations on strings."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_softsort.data import _arrays
from keras_softsort.data._svmlight.lines import DECIMAL, LARGEST, Rules, complaint, content, has_query, query_id

READ_BYTES = 2**23  # at a time
_DECIMAL = DECIMAL.pattern.decode()
_PAIRS = rf"( \d{{1,18}}:{_DECIMAL})*"
_LINE, _LINE_WITH_QUERY = _DECIMAL + _PAIRS, rf"{_DECIMAL} qid:[-+]?\d+{_PAIRS}"


class Block(NamedTuple):
    """The lines of a block."""

    labels: np.ndarray  # [lines]
    queries: np.ndarray  # [lines] int64, or [0] if lines have none
    features: np.ndarray  # [lines, largest index]


def read_blocks(file: IO[bytes], path: Any, first: int, num_features: int | None) -> Iterator[Block]:
    """Yield the blocks of an open file, which errors name `path`. `first` is the first index."""
    rules, lines = None, 0
    while raw := _read_lines(file, path):
        text = _plain(raw)
        if text:
            if rules is None:
                rules = Rules(has_query(text.partition(b"\n")[0].split()), first, num_features)
            block = parse_block(text, rules)
            if block is None:
                raise ValueError(f"{path}, {_first_complaint(raw, lines, rules)}")
            yield block
        lines += raw.count(b"\n")


def _read_lines(file: IO[bytes], path: Any) -> bytes:
    """Read about `READ_BYTES` of whole lines."""
    try:
        return file.read(READ_BYTES) + file.readline()
    except (EOFError, OSError, zlib.error) as error:
        raise OSError(f"{path} cannot be read or decompressed: {error}") from error


def _plain(text: bytes) -> bytes:
    """Remove comments, empty lines and repeated spaces. Each line ends with a newline."""
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
    """Describe the first malformed line, with its number. `before` lines precede `raw`."""
    lines = raw.split(b"\n")
    for number, line in enumerate(lines, start=before + 1):
        parts = content(line)
        found = complaint(parts, rules) if parts else None
        if found:
            return f"line {number}: {found}"
    return f"lines {before + 1} to {before + len(lines)}: expected lines `label qid:ID index:value ...`"


def parse_block(text: bytes, rules: Rules) -> Block | None:
    """Parse whole lines, with single spaces and without comments and empty lines; `None` if anything is malformed."""
    lines = text.removesuffix(b"\n").split(b"\n")
    if not np.all(tf.strings.regex_full_match(lines, _LINE_WITH_QUERY if rules.has_query else _LINE)):
        return None
    labels, queries, pairs = [], [], []
    for line in lines:
        label, _, rest = line.partition(b" ")
        if rules.has_query:
            query, _, rest = rest.partition(b" ")
            queries.append(query_id(query.removeprefix(b"qid:")))
        labels.append(label)
        pairs.append(rest)
    label_numbers = _numbers(b" ".join(labels))
    if None in queries or not np.all((label_numbers >= 0) & (label_numbers <= LARGEST)):
        return None
    indices, values = _numbers(b" ".join(pairs).replace(b":", b" ")).reshape(-1, 2).T
    rows = np.repeat(np.arange(len(lines)), [each.count(b":") for each in pairs])
    features = _dense(rows, indices, values, len(lines), rules)
    return None if features is None else Block(label_numbers.astype(np.float32), np.array(queries, np.int64), features)


def _numbers(text: bytes) -> np.ndarray:
    """Convert numbers that are separated by spaces to float64."""
    try:
        return tf.strings.to_number(tf.strings.split([text]).values, tf.float64).numpy()
    except tf.errors.InvalidArgumentError:  # TensorFlow does not convert numbers of 32 or more characters
        return np.array(text.split()).astype(np.float64)


def _dense(rows: np.ndarray, indices: np.ndarray, values: np.ndarray, lines: int, rules: Rules) -> np.ndarray | None:
    """Put `values` into features `[lines, f]`, which are 0 elsewhere. `None` if an index is malformed."""
    columns = indices.astype(np.int64) - rules.first
    ascending = (np.diff(columns) > 0) | (np.diff(rows) > 0)
    width = columns.max(initial=-1) + 1
    if not np.all(ascending) or columns.min(initial=0) < 0 or width > rules.most_features:
        return None
    features = _arrays.zeros((lines, width))
    features[rows, columns] = np.clip(values, -LARGEST, LARGEST)
    return features
