"""Tables of several libraries, read column by column, and the lists that a group column makes."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from keras_softsort.data import arrays


class Table(NamedTuple):
    """Rows in memory, and a function that reads some rows of a column: numbers, or objects for everything else."""

    names: list[str]
    size: int
    column: Callable[[str, slice], np.ndarray]
    is_category: Callable[[str], bool]  # whether a column holds codes of categories, whatever these are
    index: Any = None  # pandas' labels of the rows
    stored_index: frozenset[str] = frozenset()  # columns that held such labels before


def table(frame: Any) -> Table:
    """Return `frame` as a table, without importing its library."""
    kind = type(frame)
    match kind.__module__.partition(".")[0], kind.__name__:
        case "pandas", "DataFrame":
            names = list(frame.columns)
            return _table(
                names,
                len(frame),
                lambda name, rows: _of_pandas(frame[name].iloc[rows]),
                lambda name: frame[name].dtype,
                index=frame.index,
            )
        case "polars", "DataFrame":
            return _table(
                frame.columns,
                len(frame),
                lambda name, rows: frame[name][rows].to_numpy(),
                lambda name: frame[name].dtype,
            )
        case "pyarrow", "Table" | "RecordBatch":
            return _table(
                frame.column_names,
                len(frame),
                lambda name, rows: _of_arrow(frame[name][rows]),
                lambda name: frame[name].type,
                stored_index=stored_index(frame.schema),
            )
    if isinstance(frame, Mapping):
        return _of_mapping(frame)
    hint = ": call its collect()" if kind.__name__ == "LazyFrame" else ""
    raise TypeError(
        "frame must be a pandas or polars DataFrame, a pyarrow Table or a dictionary of columns, got "
        f"{kind.__module__}.{kind.__qualname__}{hint}"
    )


def stored_index(schema: Any) -> frozenset[str]:
    """The columns of an Arrow schema in which pandas stored the index of a frame, which are no features by default."""
    described = (schema.pandas_metadata or {}).get("index_columns", [])
    return frozenset(name for name in described if isinstance(name, str))  # a range has no column


def _table(
    names: list[str],
    size: int,
    read: Callable[[str, slice], np.ndarray],
    dtype: Callable[[str], Any],
    **others: Any,
) -> Table:
    """Name the column in the errors of the frame's library."""

    def column(name: str, rows: slice) -> np.ndarray:
        try:
            values = read(name, rows)
        except Exception as error:
            raise ValueError(f"column {name!r} must hold values that NumPy can hold, got an error: {error}") from error
        if values.ndim != 1:
            raise ValueError(f"column {name!r} must hold one value in each row, got {values.shape[1]} in row 0")
        return values

    return Table(names, size, column, lambda name: _is_of_categories(dtype(name)), **others)


def _is_of_categories(dtype: Any) -> bool:
    """Whether it is a dtype of categories in pandas (also of pyarrow), polars or pyarrow."""
    return str(dtype).lower().startswith(("category", "categorical", "enum", "dictionary"))


def _of_arrow(values: Any) -> np.ndarray:
    # NumPy would get a value in place of each null of a dictionary.
    return np.asarray(values.cast(values.type.value_type) if _is_of_categories(values.type) else values)


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

    def is_category(name: str) -> bool:
        values = frame[name]
        return _is_of_categories(getattr(values, "dtype", getattr(values, "type", "")))

    return Table(list(frame), size, lambda name, rows: array(name)[rows], is_category)


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
