"""Many lines of an SVMlight file at once: a number of passes over arrays instead of a Python loop over numbers."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from keras_softsort.data._svmlight_lines import DECIMAL, LARGEST, LARGEST_ID, Rules

COLON, SPACE, NEWLINE, DOT = b": \n."
_DIGIT, _SEPARATOR, _SIGN, _DOT, _OTHER = range(5)
_KINDS = np.full(256, _OTHER, np.uint8)
_KINDS[list(b"0123456789")] = _DIGIT
_KINDS[[COLON, SPACE, NEWLINE]] = _SEPARATOR
_KINDS[list(b"+-")] = _SIGN
_KINDS[DOT] = _DOT
_COLON_TO_SPACE = bytes.maketrans(b":", b" ")
# What may follow what. Lines with a query are written `label:query index:value index:value`.
_PLAIN = {b"\n ", b"\n\n", b" :", b": ", b":\n"}
_WITH_QUERY = {b"\n:", b": ", b" :", b":\n"}
_INT64_DIGITS = 18


class Block(NamedTuple):
    """The lines of a block."""

    labels: np.ndarray  # [lines]
    queries: np.ndarray  # [lines] int64, or [0] where lines have none
    features: np.ndarray  # [lines, the largest index that came]


def parse_block(text: bytes, rules: Rules) -> Block | None:
    """Whole lines, each ended by a newline, without comments and empty lines; `None` if anything is not right.

    Between numbers there is one space or one colon and nothing else.
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
    # Which number is what: the first of a line is its label; one before a colon is an index.
    firsts = np.concatenate([[True], separators[:-1] == NEWLINE])
    indices = separators == COLON
    queries = np.zeros_like(firsts)
    if rules.has_query:
        queries[1:] = firsts[:-1]
        indices &= ~firsts
    values = _numbers(text, ends, indices | queries)
    if values is None:
        return None
    labels, ids = values[firsts], values[queries]
    if not np.all((labels >= 0) & (labels <= LARGEST)) or np.any(ids >= LARGEST_ID):
        return None
    rows = np.cumsum(firsts)[indices] - 1
    features = _dense(rows, values[indices], values[np.flatnonzero(indices) + 1], len(labels), rules)
    return None if features is None else Block(labels.astype(np.float32), ids.astype(np.int64), features)


def _tokens(text: bytes, allowed: set[bytes]) -> tuple[np.ndarray, np.ndarray] | None:
    """Where each number ends, and what ends it, if the order of separators is right."""
    kinds = _KINDS[np.frombuffer(text, np.uint8)]
    ends = np.flatnonzero(kinds == _SEPARATOR)
    separators = np.frombuffer(text, np.uint8)[ends]
    before = np.concatenate([[np.uint8(NEWLINE)], separators[:-1]]).astype(np.uint16)
    wanted = [first << 8 | second for first, second in allowed]
    right = np.isin(before << 8 | separators, np.array(wanted, np.uint16))
    return (ends, separators) if np.all(right) else None


def _numbers(text: bytes, ends: np.ndarray, integers: np.ndarray) -> np.ndarray | None:
    """Each number as float64, those marked `integers` being digits and nothing else.

    Without their dots numbers are integers, which NumPy reads eight times as fast as decimals. What such an integer
    cannot hold, exponents above all, is read one by one.
    """
    characters = np.frombuffer(text, np.uint8).copy()
    kinds = _KINDS[characters]
    starts = np.concatenate([[0], ends[:-1] + 1])
    odd = np.union1d(
        np.searchsorted(ends, np.flatnonzero(kinds == _OTHER)), np.flatnonzero(ends - starts > _INT64_DIGITS)
    )
    read_singly = []
    for start, end in zip(starts[odd], ends[odd], strict=True):
        if not DECIMAL.fullmatch(text, start, end):
            return None
        read_singly.append(float(text[start:end]))
        characters[start:end], kinds[start:end] = ord("0"), _DIGIT
    dots = np.flatnonzero(kinds == _DOT)
    dotted, signed = np.searchsorted(ends, dots), np.searchsorted(ends, np.flatnonzero(kinds == _SIGN))
    if np.any(np.diff(dotted) == 0) or any(np.any(integers[found]) for found in (odd, dotted, signed)):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # NumPy 1 warns of a number that is none
        try:
            whole = np.fromstring(characters.tobytes().translate(_COLON_TO_SPACE, b"."), dtype=np.int64, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    if len(whole) != len(ends):
        return None
    values = whole.astype(np.float64)
    values[dotted] /= np.power(10.0, np.arange(_INT64_DIGITS + 1))[ends[dotted] - dots - 1]
    values[odd] = read_singly
    return values


def _dense(rows: np.ndarray, indices: np.ndarray, values: np.ndarray, lines: int, rules: Rules) -> np.ndarray | None:
    """Features [lines, f] of the numbers `values`, 0 where there is none."""
    columns = indices.astype(np.int64) - rules.first
    ascending = (np.diff(columns) > 0) | (np.diff(rows) > 0)
    width = columns.max(initial=-1) + 1
    right = np.all(ascending) and columns.min(initial=0) >= 0
    if not right or (rules.num_features is not None and width > rules.num_features):
        return None
    features = np.zeros([lines, width], np.float32)
    features[rows, columns] = np.clip(values, -LARGEST, LARGEST)
    return features
