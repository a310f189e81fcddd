"""The values of the group column of a table, and the lists that they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_softsort.data import arrays


def unchanged(given: Any, values: np.ndarray) -> np.ndarray:
    """Return `values`, which NumPy made of `given`, or objects if it changed a value of a Python list to do so."""
    if not isinstance(given, (list, tuple)) or values.dtype.kind not in "fcUS" or values.tolist() == list(given):
        return values
    return np.array(given, object)


def joined(parts: Sequence[np.ndarray], name: str) -> np.ndarray:
    """Put together the parts of the column `name`: as objects, if their common dtype would round large integers."""
    dtypes = {part.dtype for part in parts}
    try:
        common = np.result_type(*dtypes)
    except TypeError as error:
        found = " and ".join(sorted(map(str, dtypes)))
        raise ValueError(f"group {name!r} must have values of one type in all files, got {found}") from error
    rounds = common.kind == "f" and any(dtype.kind in "iu" and dtype.itemsize == 8 for dtype in dtypes)
    return np.concatenate([part.astype(object) for part in parts] if rounds else parts)


class Groups:
    """Lists of equal values of the group column, in the order of their first rows.

    `ids` has their values, and `rows` the row of each item, list by list, or None if rows keep their order.
    """

    def __init__(self, values: np.ndarray, name: str) -> None:
        is_object = values.dtype.kind == "O"
        unhashable = next((value for value in values if not _is_hashable(value)), None) if is_object else None
        if unhashable is not None:
            raise ValueError(f"group {name!r} must hold values such as numbers or strings, got {unhashable!r}")
        missing = [_is_no_value(value) for value in values] if is_object else values != values  # noqa: PLR0124  (NaN, NaT)
        if np.any(missing):
            at = int(np.argmax(missing))
            raise ValueError(f"group {name!r} must have a value in every row, got {values[at]!r} in row {at}")
        starts, self.sizes = arrays.runs(values)
        numbers: dict[Any, int] = {}
        group_of_run = np.array([numbers.setdefault(value, len(numbers)) for value in values[starts].tolist()], int)
        self.ids = values[starts][np.unique(group_of_run, return_index=True)[1]]
        self.rows: np.ndarray | None = None
        if len(numbers) < len(starts):
            groups = np.repeat(group_of_run, self.sizes)
            self.sizes, self.rows = np.bincount(groups), np.argsort(groups, kind="stable")


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_no_value(value: Any) -> bool:
    try:
        return value is None or bool(value != value)  # noqa: PLR0124  (NaN)
    except TypeError:  # pandas' NA
        return True
