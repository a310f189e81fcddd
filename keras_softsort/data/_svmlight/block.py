"""Parses many lines of an SVMlight file at once, by TensorFlow's operations on strings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_softsort.data import _arrays
from keras_softsort.data._svmlight.lines import DECIMAL, LARGEST, Rules, query_id

_DECIMAL = DECIMAL.pattern.decode()
_PAIRS = rf"( \d{{1,18}}:{_DECIMAL})*"
_LINE, _LINE_WITH_QUERY = _DECIMAL + _PAIRS, rf"{_DECIMAL} qid:[-+]?\d+{_PAIRS}"


class Block(NamedTuple):
    """The lines of a block."""

    labels: np.ndarray  # [lines]
    queries: np.ndarray  # [lines] int64, or [0] if lines have none
    features: np.ndarray  # [lines, largest index]


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
