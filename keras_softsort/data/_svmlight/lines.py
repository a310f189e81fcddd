"""The rules for a line of an SVMlight file, checked one by one to make the error message.

`blocks.py` reads many lines at a time and only finds out whether all of them are valid.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

DECIMAL = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
LARGEST_ID = 2**63 - 1  # int64, as in scikit-learn
LARGEST = float(np.finfo(np.float32).max)
MOST_FEATURES = 100_000  # without `num_features`: the features become a dense array
_MOST_SHOWN = 60  # characters of a part of a line in a message


class Rules(NamedTuple):
    """The format of a file."""

    has_query: bool  # every line has a `qid:`
    first: int  # the first index
    num_features: int | None  # as the caller gave it

    @property
    def most_features(self) -> int:
        """The largest number of features that is allowed."""
        return MOST_FEATURES if self.num_features is None else self.num_features


def content(line: bytes) -> list[bytes]:
    """Split a line without its comment. An empty line or a comment has no parts."""
    return line.partition(b"#")[0].split()


def has_query(parts: list[bytes]) -> bool:
    """Whether a line names its query."""
    return len(parts) > 1 and parts[1].startswith(b"qid:")


def query_id(text: bytes) -> int | None:
    """Convert the text after `qid:`. `None` if it is not an integer from -2^63 to 2^63 - 1."""
    found = re.fullmatch(rb"([-+]?)0*(\d{1,19})", text)
    number = int(found[1] + found[2]) if found else LARGEST_ID + 1
    return number if -LARGEST_ID - 1 <= number <= LARGEST_ID else None


def complaint(parts: list[bytes], rules: Rules) -> str | None:
    """Say what was expected of a line and what was received. `None` if the line is valid."""
    label, rest = parts[0], parts[1:]
    if not DECIMAL.fullmatch(label) or not 0 <= float(label) <= LARGEST:
        return f"expected a label that is a finite number of at least 0 (below 0 marks padding), got {_shown(label)}"
    if has_query(parts) != rules.has_query:
        expected = "qid:ID after the label" if rules.has_query else "no qid:"
        return f"expected {expected}, as in the first line, got {_shown(rest[0]) if rest else 'nothing'}"
    if rules.has_query:
        query = rest.pop(0)[4:]
        if query_id(query) is None:
            return f"expected an integer from -2^63 to 2^63 - 1 after qid:, got {_shown(query)}"
    return _complaint_of_features(rest, rules)


def _complaint_of_features(parts: list[bytes], rules: Rules) -> str | None:
    last = -1
    for part in parts:
        found = re.fullmatch(rb"(\d{1,18}):(.*)", part, flags=re.DOTALL)
        if not found or not DECIMAL.fullmatch(found[2]):
            return f"expected INDEX:VALUE, an integer and a finite number, got {_shown(part)}"
        index = int(found[1])
        if index < rules.first:
            return f"expected indices of at least 1, got {_shown(part)}; zero_based=True allows 0"
        if index - rules.first >= rules.most_features:
            if rules.num_features is not None:
                return f"expected at most num_features={rules.num_features} features, got {_shown(part)}"
            return f"expected at most {MOST_FEATURES} features unless num_features allows more, got {_shown(part)}"
        if index <= last:
            return f"expected strictly increasing indices, got {_shown(part)} after {last}"
        last = index
    return None


def _shown(part: bytes) -> str:
    text = part.decode("utf-8", "replace")
    if len(text) <= _MOST_SHOWN:
        return repr(text)
    return f"{text[:_MOST_SHOWN]!r} and {len(text) - _MOST_SHOWN} more characters"
