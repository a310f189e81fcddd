"""Parses many lines of an SVMlight file at once, by passes over arrays instead of a Python loop over numbers."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from keras_softsort.data import _arrays
from keras_softsort.data._svmlight.lines import DECIMAL, LARGEST, Rules, query_id

COLON, SPACE, NEWLINE, DOT = b": \n."
_DIGIT, _SEPARATOR, _SIGN, _DOT, _OTHER = range(5)
_KINDS = np.full(256, _OTHER, np.uint8)
_KINDS[list(b"0123456789")] = _DIGIT
_KINDS[[COLON, SPACE, NEWLINE]] = _SEPARATOR
_KINDS[list(b"+-")] = _SIGN
_KINDS[DOT] = _DOT
_COLON_TO_SPACE = bytes.maketrans(b":", b" ")
# The pairs of separators that may follow each other. Lines with a query read `label:query index:value index:value`.
_PLAIN = {b"\n ", b"\n\n", b" :", b": ", b":\n"}
_WITH_QUERY = {b"\n:", b": ", b" :", b":\n"}
_INT64_DIGITS = 18


class Block(NamedTuple):
    """The lines of a block."""

    labels: np.ndarray  # [lines]
    queries: np.ndarray  # [lines] int64, or [0] if lines have none
    features: np.ndarray  # [lines, largest index]


def parse_block(text: bytes, rules: Rules) -> Block | None:
    """Parses whole lines without comments and empty lines, each ended by a newline; `None` if anything is malformed.

    Numbers must be separated by exactly one space or one colon.
    """
    if rules.has_query:
        count = text.count(b" qid:")
        text = text.replace(b" qid:", b":")
        if count != text.count(b"\n"):
            return None
    tokens = _tokens(text, _WITH_QUERY if rules.has_query else _PLAIN)
    if tokens is None:
        return None
    ends, separators = tokens
    # The first number of a line is its label; a number before a colon is an index.
    firsts = np.concatenate([[True], separators[:-1] == NEWLINE])
    indices = separators == COLON
    queries = np.zeros_like(firsts)
    if rules.has_query:
        queries[1:] = firsts[:-1]
        indices &= ~firsts
    numbers = _numbers(text, ends, indices, queries)
    if numbers is None:
        return None
    values, whole = numbers
    labels = values[firsts]
    if not np.all((labels >= 0) & (labels <= LARGEST)):
        return None
    rows = np.cumsum(firsts)[indices] - 1
    features = _dense(rows, values[indices], values[np.flatnonzero(indices) + 1], len(labels), rules)
    return None if features is None else Block(labels.astype(np.float32), whole[queries], features)


def _tokens(text: bytes, allowed: set[bytes]) -> tuple[np.ndarray, np.ndarray] | None:
    """Where each number ends and its separator, or `None` if a separator is misplaced."""
    kinds = _KINDS[np.frombuffer(text, np.uint8)]
    ends = np.flatnonzero(kinds == _SEPARATOR)
    separators = np.frombuffer(text, np.uint8)[ends]
    before = np.concatenate([[np.uint8(NEWLINE)], separators[:-1]]).astype(np.uint16)
    expected = [first << 8 | second for first, second in allowed]
    is_valid = np.isin(before << 8 | separators, np.array(expected, np.uint16))
    return (ends, separators) if np.all(is_valid) else None


def _numbers(
    text: bytes, ends: np.ndarray, indices: np.ndarray, queries: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Each number as float64 and, where `indices` or `queries` mark it, as int64; `None` if one is malformed.

    Without their dots numbers are integers, which NumPy reads eight times as fast as decimals. Numbers that do not fit
    into such an integer, above all those with an exponent, are read one by one.
    """
    characters = np.frombuffer(text, np.uint8).copy()
    kinds = _KINDS[characters]
    starts = np.concatenate([[0], ends[:-1] + 1])
    odd = np.union1d(
        np.searchsorted(ends, np.flatnonzero(kinds == _OTHER)), np.flatnonzero(ends - starts > _INT64_DIGITS)
    )
    read_singly: list[float] = []
    long_ids: dict[int, int] = {}
    for at, start, end in zip(odd, starts[odd], ends[odd], strict=True):
        number = query_id(text[start:end]) if queries[at] else 0
        if number is None or not DECIMAL.fullmatch(text, start, end):
            return None
        if queries[at]:
            long_ids[at] = number
        read_singly.append(float(text[start:end]))
        characters[start:end], kinds[start:end] = ord("0"), _DIGIT
    dots = np.flatnonzero(kinds == _DOT)
    dotted, signed = np.searchsorted(ends, dots), np.searchsorted(ends, np.flatnonzero(kinds == _SIGN))
    has_dot = np.zeros(len(ends), bool)
    has_dot[dotted] = True
    without_digit = (ends - starts)[signed] - has_dot[signed] < 2
    integers = indices | queries
    malformed = [np.diff(dotted) == 0, without_digit, indices[odd], integers[dotted], indices[signed]]
    if any(np.any(found) for found in malformed):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # NumPy 1 only warns of text that is not a number
        try:
            whole = np.fromstring(characters.tobytes().translate(_COLON_TO_SPACE, b"."), dtype=np.int64, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    if len(whole) != len(ends):
        return None
    values = whole.astype(np.float64)
    values[dotted] /= np.power(10.0, np.arange(_INT64_DIGITS + 1))[ends[dotted] - dots - 1]
    values[odd] = read_singly
    for at, number in long_ids.items():
        whole[at] = number
    return values, whole


def _dense(rows: np.ndarray, indices: np.ndarray, values: np.ndarray, lines: int, rules: Rules) -> np.ndarray | None:
    """Features `[lines, f]` from the `values` at `indices`, 0 elsewhere."""
    columns = indices.astype(np.int64) - rules.first
    ascending = (np.diff(columns) > 0) | (np.diff(rows) > 0)
    width = columns.max(initial=-1) + 1
    if not np.all(ascending) or columns.min(initial=0) < 0 or width > rules.most_features:
        return None
    features = _arrays.zeros((lines, width))
    features[rows, columns] = np.clip(values, -LARGEST, LARGEST)
    return features
