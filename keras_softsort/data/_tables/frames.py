"""Columns of data frames of several libraries as arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np


class Table(NamedTuple):
    """Rows in memory, and a function that reads some rows of a column: numbers, or objects for everything else."""

    names: list[str]
    size: int
    column: Callable[[str, slice], np.ndarray]


def table(frame: Any) -> Table:
    """Return `frame` as a table, without importing its library."""
    kind = type(frame)
    read = _READERS.get((kind.__module__.partition(".")[0], kind.__name__))
    if read is not None:
        names = frame.column_names if read is _read_arrow else frame.columns
        return Table(list(names), len(frame), functools.partial(read, frame))
    if isinstance(frame, Mapping):
        size = max(map(_length, frame.values()), default=0)
        arrays = functools.cache(lambda name: np.asarray(frame[name]))
        return Table(list(frame), size, functools.partial(_read_mapping, arrays, size))
    hint = ": call its collect()" if kind.__name__ == "LazyFrame" else ""
    raise TypeError(
        "frame must be a pandas or polars DataFrame, a pyarrow Table or a dictionary of columns, got "
        f"{kind.__module__}.{kind.__qualname__}{hint}"
    )


def _read_pandas(frame: Any, name: str, rows: slice) -> np.ndarray:
    values = frame[name].iloc[rows]
    if isinstance(values.dtype, np.dtype) or getattr(values.dtype, "kind", "O") not in "iufb":
        return values.to_numpy()
    if values.hasnans:
        return values.to_numpy(np.float64, na_value=np.nan)
    return values.to_numpy(getattr(values.dtype, "numpy_dtype", np.float64))


def _read_polars(frame: Any, name: str, rows: slice) -> np.ndarray:
    return frame[name][rows].to_numpy()


def _read_arrow(frame: Any, name: str, rows: slice) -> np.ndarray:
    return frame.column(name).slice(rows.start, rows.stop - rows.start).to_numpy(zero_copy_only=False)


def _read_mapping(arrays: Callable[[str], np.ndarray], size: int, name: str, rows: slice) -> np.ndarray:
    values = arrays(name)
    if values.shape != (size,):
        raise ValueError(f"columns must all be one-dimensional of length {size}, got {name!r}: {values.shape}")
    return values[rows]


def _length(values: Any) -> int:
    try:
        return len(values)
    except TypeError:  # a number, whose shape `_read_mapping` refuses
        return 1


_READERS: dict[tuple[str, str], Callable[[Any, str, slice], np.ndarray]] = {
    ("pandas", "DataFrame"): _read_pandas,
    ("polars", "DataFrame"): _read_polars,
    ("pyarrow", "Table"): _read_arrow,
    ("pyarrow", "RecordBatch"): _read_arrow,
}
