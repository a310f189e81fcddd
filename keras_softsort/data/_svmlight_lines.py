"""What is wrong with a line of an SVMlight file: the rules one by one, for the message.

A file is read by `_svmlight_block.py`, many lines at a time, which knows only whether they all are right.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

DECIMAL = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
LARGEST_ID = 2**53  # as a float64 it is still told from its neighbours
LARGEST = float(np.finfo(np.float32).max)


class Rules(NamedTuple):
    """How a file is written."""

    has_query: bool  # every line has a `qid:`
    first: int  # the first index
    num_features: int | None  # how many there may be


def content(line: bytes) -> list[bytes]:
    """The parts of a line without its comment; none where there is but a comment."""
    return line.partition(b"#")[0].split()


def has_query(parts: list[bytes]) -> bool:
    """Whether a line tells its query."""
    return len(parts) > 1 and parts[1].startswith(b"qid:")


def complaint(parts: list[bytes], rules: Rules) -> str | None:
    """What was expected of the line and what came, or `None` if it is right."""
    label, rest = parts[0], parts[1:]
    if not DECIMAL.fullmatch(label) or not 0 <= float(label) <= LARGEST:
        return f"expected a label that is a finite number from 0 on (below 0 is padding), got {_shown(label)}"
    if has_query(parts) != rules.has_query:
        expected = "qid:ID after the label" if rules.has_query else "no qid:"
        return f"expected {expected}, as in the first line, got {_shown(rest[0]) if rest else 'nothing'}"
    if rules.has_query:
        query = rest.pop(0)[4:]
        if not re.fullmatch(rb"\d{1,18}", query) or int(query) >= LARGEST_ID:
            return f"expected an integer from 0 to 2^53 after qid:, got {_shown(query)}"
    return _complaint_of_features(rest, rules)


def _complaint_of_features(parts: list[bytes], rules: Rules) -> str | None:
    last = -1
    for part in parts:
        found = re.fullmatch(rb"(\d{1,18}):(.*)", part, flags=re.DOTALL)
        if not found or not DECIMAL.fullmatch(found[2]):
            return f"expected INDEX:VALUE, an integer and a finite number, got {_shown(part)}"
        index = int(found[1])
        if index < rules.first:
            return f"expected indices from 1 on, got {_shown(part)}; those of zero_based=True begin at 0"
        if rules.num_features is not None and index - rules.first >= rules.num_features:
            return f"expected at most num_features={rules.num_features} features, got {_shown(part)}"
        if index <= last:
            return f"expected indices that ascend, got {_shown(part)} after {last}"
        last = index
    return None


def _shown(part: bytes) -> str:
    return repr(part.decode("utf-8", "replace"))
