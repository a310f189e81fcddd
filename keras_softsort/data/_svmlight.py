"""SVMlight files in blocks of whole lines, and what is wrong with a malformed line."""

from __future__ import annotations

import functools
import io
import re
import zlib
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_softsort.data import _arrays
from keras_softsort.data._files import named

READ_BYTES = 2**23  # at a time
_DECIMAL = rb"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_LABEL = re.compile(_DECIMAL)
_QUERY = re.compile(rb"qid:([-+]?)0*(\d{1,19})")
_PAIR = re.compile(rb"\d{1,18}:" + _DECIMAL)
_PAIRS = rb"(?:%b(?:[\s\v]+|$))*" % _PAIR.pattern  # for TensorFlow, whose \s has no \v
_LARGEST_ID = 2**63 - 1  # int64, as in scikit-learn
_LARGEST = float(np.finfo(np.float32).max)
_MOST_FEATURES = 100_000  # without `num_features`: the features become a dense array
_MOST_SHOWN = 60  # characters of a part of a line in a message


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
        lines = {number: text for number, line in enumerate(io.BytesIO(raw), before + 1) if (text := content(line))}
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


def content(line: bytes) -> bytes:
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
        if not 0 <= labels[-1] <= _LARGEST:
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
    features = _arrays.zeros((len(lines), columns.max(initial=-1) + 1))
    features[rows, columns] = np.clip(values, -_LARGEST, _LARGEST)
    return Block(np.array(labels, np.float32), np.array(queries, np.int64), features)


def _shown(part: bytes) -> str:
    text = part.decode("utf-8", "replace")
    if len(text) <= _MOST_SHOWN:
        return repr(text)
    return f"{text[:_MOST_SHOWN]!r} and {len(text) - _MOST_SHOWN} more characters"
