"""Tables of several libraries, read column by column."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np


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
