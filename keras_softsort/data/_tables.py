"""Tables of any library, and groups of their rows as lists."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from keras_softsort._internal import arguments
from keras_softsort.data import _arrays
from keras_softsort.data._ranking_dataset import RankingDataset

_ROWS = 2**14  # copied at a time, column by column, so that they fit into the cache


class Table(NamedTuple):
    """Rows in memory, and a function that reads some rows of a column: numbers, or objects for everything else."""

    names: list[str]
    size: int
    column: Callable[[str, slice], np.ndarray]


def table(frame: Any) -> Table:
    """Return `frame` as a table, without importing its library."""
    kind = type(frame)
    match kind.__module__.partition(".")[0], kind.__name__:
        case "pandas", "DataFrame":
            return Table(list(frame.columns), len(frame), lambda name, rows: _of_pandas(frame[name].iloc[rows]))
        case "polars", "DataFrame":
            return Table(frame.columns, len(frame), lambda name, rows: frame[name][rows].to_numpy())
        case "pyarrow", "Table" | "RecordBatch":
            return Table(frame.column_names, len(frame), lambda name, rows: np.asarray(frame[name][rows]))
    if isinstance(frame, Mapping):
        return _of_mapping(frame)
    hint = ": call its collect()" if kind.__name__ == "LazyFrame" else ""
    raise TypeError(
        "frame must be a pandas or polars DataFrame, a pyarrow Table or a dictionary of columns, got "
        f"{kind.__module__}.{kind.__qualname__}{hint}"
    )


def _of_pandas(values: Any) -> np.ndarray:
    if isinstance(values.dtype, np.dtype) or values.dtype.kind not in "iufb":
        return values.to_numpy()
    if values.hasnans:
        return values.to_numpy(np.float64, na_value=np.nan)
    return values.to_numpy(getattr(values.dtype, "numpy_dtype", np.float64))


def _of_mapping(frame: Mapping[str, Any]) -> Table:
    size = max((operator.length_hint(values, 1) for values in frame.values()), default=0)

    @functools.cache
    def array(name: str) -> np.ndarray:
        values = np.asarray(frame[name])
        if values.shape != (size,):
            raise ValueError(f"columns must all be one-dimensional of length {size}, got {name!r}: {values.shape}")
        return values

    return Table(list(frame), size, lambda name, rows: array(name)[rows])


class Roles:
    """The names of the columns by their role, which are among `names`. Without `features`, all others are features."""

    def __init__(
        self, names: Sequence[str], group: str, label: str | None, features: Sequence[str] | None, weight: str | None
    ) -> None:
        roles = {"group": group, "label": label, "weight": weight}
        named = {role: name for role, name in roles.items() if role == "group" or name is not None}
        if features is None:
            features = [name for name in names if name not in named.values()]
        columns = list(arguments.elements("features", features, "column names"))
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
      rows: the row of each item, list by list; None if rows keep their order.
    """

    def __init__(self, values: np.ndarray, name: str) -> None:
        is_object = values.dtype.kind == "O"
        missing = [_is_no_value(value) for value in values] if is_object else values != values  # noqa: PLR0124  (NaN, NaT)
        if np.any(missing):
            at = int(np.argmax(missing))
            raise ValueError(f"group {name!r} must have a value in every row, got {values[at]!r} in row {at}")
        starts, self.sizes = _arrays.runs(values)
        numbers: dict[Any, int] = {}
        group_of_run = np.array([numbers.setdefault(value, len(numbers)) for value in values[starts].tolist()], int)
        self.ids = values[starts][np.unique(group_of_run, return_index=True)[1]]
        self.rows: np.ndarray | None = None
        if len(numbers) < len(starts):
            groups = np.repeat(group_of_run, self.sizes)
            self.sizes, self.rows = np.bincount(groups), np.argsort(groups, kind="stable")


def gathered(tables: Iterable[Table], groups: Groups, roles: Roles) -> RankingDataset:
    """Gather the rows of `tables`, one after another, as lists."""
    rows = int(groups.sizes.sum())
    features = _arrays.zeros((rows, len(roles.features)))
    labels, weights = (None if name is None else _arrays.zeros((rows,)) for name in (roles.label, roles.weight))
    targets = dict(zip(roles.features, features.T, strict=True))
    targets |= {name: column for name, column in ((roles.label, labels), (roles.weight, weights)) if column is not None}
    positions = None if groups.rows is None else np.argsort(groups.rows)
    first = 0
    for table in tables:
        for start in range(0, table.size, _ROWS):
            part = slice(start, min(start + _ROWS, table.size))
            here = slice(first + part.start, first + part.stop)
            places = here if positions is None else positions[here]
            for name, target in targets.items():
                target[places] = _numbers(table.column(name, part), name, here.start)
        first += table.size
    return RankingDataset(features, labels, groups.sizes, groups.ids, weights, groups.rows, roles.features)


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


def _is_no_value(value: Any) -> bool:
    try:
        return value is None or bool(value != value)  # noqa: PLR0124  (NaN)
    except TypeError:  # pandas' NA
        return True
