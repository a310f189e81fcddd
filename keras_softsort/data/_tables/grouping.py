"""Groups of rows of tables as lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from keras_softsort._internal import arguments
from keras_softsort.data import _arrays
from keras_softsort.data._ranking_dataset import RankingDataset
from keras_softsort.data._tables.frames import Table

_ROWS = 2**14  # copied at a time, column by column, so that they fit into the cache


class Roles:
    """The names of the columns by their role, which are among `names`. Without `features`, all others are features."""

    def __init__(
        self, names: Sequence[str], group: str, label: str | None, features: Sequence[str] | None, weight: str | None
    ) -> None:
        optional = {"label": label, "weight": weight}
        named = {"group": group, **{role: name for role, name in optional.items() if name is not None}}
        others = [name for name in names if name not in named.values()]
        columns = others if features is None else list(arguments.elements("features", features, "column names"))
        for argument, name in [*named.items(), *(("features", name) for name in columns)]:
            if names.count(name) != 1:
                problem = "is not there" if name not in names else "is there more than once"
                raise ValueError(f"{argument} must name one column of {list(names)}, got {name!r}, which {problem}")
        used = [*named.values(), *columns]
        twice = sorted({name for name in used if used.count(name) > 1})
        if twice or not columns:
            problem = f"{twice} more than once" if twice else "no column for features"
            raise ValueError(f"group, label, weight and features must be different columns, got {problem}")
        self.group, self.label, self.features, self.weight = group, label, columns, weight
        # All columns but that of the groups.
        self.numbers = used[1:]


class Groups:
    """Lists of equal values of the group column, in the order of their first rows.

    Attributes:
      ids: the value of each list.
      sizes: the number of rows of each list.
      positions: the new position of each row; None if rows keep their order.
    """

    def __init__(self, values: np.ndarray, name: str) -> None:
        missing = _is_missing(values)
        if np.any(missing):
            at = int(np.argmax(missing))
            raise ValueError(f"group {name!r} must have a value in every row, got {values[at]!r} in row {at}")
        starts, self.sizes = _arrays.runs(values)
        numbers: dict[Any, int] = {}
        group_of_run = np.array([numbers.setdefault(value, len(numbers)) for value in values[starts].tolist()], int)
        self.ids = values[starts][np.unique(group_of_run, return_index=True)[1]]
        self.positions: np.ndarray | None = None
        if len(numbers) < len(starts):
            groups = np.repeat(group_of_run, self.sizes)
            self.sizes, self.positions = np.bincount(groups), np.empty(len(values), np.int64)
            self.positions[np.argsort(groups, kind="stable")] = np.arange(len(values))


def gathered(tables: Iterable[Table], groups: Groups, roles: Roles) -> RankingDataset:
    """Gather the rows of `tables`, one after another, as lists."""
    rows = int(groups.sizes.sum())
    features = _arrays.zeros((rows, len(roles.features)))
    labels, weights = (None if name is None else _arrays.zeros((rows,)) for name in (roles.label, roles.weight))
    targets = dict(zip(roles.features, features.T, strict=True))
    targets |= {name: column for name, column in ((roles.label, labels), (roles.weight, weights)) if column is not None}
    first = 0
    for table in tables:
        for start in range(0, table.size, _ROWS):
            part = slice(start, min(start + _ROWS, table.size))
            here = slice(first + part.start, first + part.stop)
            places = here if groups.positions is None else groups.positions[here]
            for name, target in targets.items():
                target[places] = _numbers(table.column(name, part), name, here.start)
        first += table.size
    # The row of each item, the inverse of the positions.
    moved = None if groups.positions is None else np.argsort(groups.positions)
    return RankingDataset(features, labels, groups.sizes, groups.ids, weights, moved, roles.features)


def _numbers(values: np.ndarray, name: str, first: int) -> np.ndarray:
    """Convert a part of a column, from row `first` on, to float32."""
    if values.dtype.kind not in "iufb":
        example = next((value for value in values if not isinstance(value, (int, float))), values[0])
        raise ValueError(
            f"column {name!r} must hold numbers, got {values.dtype} with {example!r}; encode it as numbers"
        )
    with np.errstate(over="ignore"):
        numbers = values.astype(np.float32)
    finite = np.isfinite(numbers)
    if not np.all(finite):
        at = int(np.argmin(finite))
        raise ValueError(f"column {name!r} must hold finite float32 numbers, got {values[at]} in row {first + at}")
    return numbers


def _is_missing(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "O":
        return np.array([_is_no_value(value) for value in values], bool)
    return values != values  # noqa: PLR0124  (NaN, NaT)


def _is_no_value(value: Any) -> bool:
    try:
        return value is None or bool(value != value)  # noqa: PLR0124  (NaN)
    except TypeError:  # pandas' NA
        return True
