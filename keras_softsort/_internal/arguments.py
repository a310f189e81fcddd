"""Checks of plain Python arguments: each error names the argument, what was expected and what was received."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Collection
from typing import Any

DIRECTIONS = ("ASCENDING", "DESCENDING")


def number(name: str, value: Any) -> float:
    """`value` as a finite float."""
    found = _number(name, value)
    if not math.isfinite(found):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return found


def positive_number(name: str, value: Any) -> float:
    """`value` as a float, finite and above 0."""
    number = _number(name, value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return number


def non_negative_number(name: str, value: Any) -> float:
    """`value` as a float, finite and at least 0."""
    number = _number(name, value)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"{name} must be at least 0 and finite, got {value!r}")
    return number


def fraction(name: str, value: Any) -> float:
    """`value` as a float, at least 0 and below 1."""
    number = _number(name, value)
    if not 0 <= number < 1:
        raise ValueError(f"{name} must be at least 0 and below 1, got {value!r}")
    return number


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    return float(value)


def positive_integer(name: str, value: Any) -> int:
    """`value` as an int, at least 1."""
    number = integer(name, value)
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {value!r}")
    return number


def non_negative_integer(name: str, value: Any) -> int:
    """`value` as an int, at least 0."""
    number = integer(name, value)
    if number < 0:
        raise ValueError(f"{name} must be at least 0, got {value!r}")
    return number


def integer(name: str, value: Any) -> int:
    """`value` as an int."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    return int(value)


def one_of(name: str, value: Any, choices: Collection[str]) -> str:
    """`value`, which must be one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {sorted(choices)}, got {value!r}")
    return value


def boolean(name: str, value: Any) -> bool:
    """`value`, which must be a Python bool (a tensor could not choose the graph)."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return value


def function(name: str, value: Any) -> Callable[..., Any]:
    """`value`, which must be a function or another callable."""
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {value!r}")
    return value
