"""Columns of data frames of several libraries as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

Column = Any


class Table(Protocol):
    """A piece of a table: rows that are in memory."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""

    def __len__(self) -> int: ...

    def column(self, name: str, rows: slice) -> np.ndarray:
        """A part of a column: numbers, or objects for everything else."""


class _Pandas(NamedTuple):
    frame: Any

    @property
    def names(self) -> list[str]:
        return list(self.frame.columns)

    def __len__(self) -> int:
        return self.frame.shape[0]

    def column(self, name: str, rows: slice) -> np.ndarray:
        values = self.frame[name].iloc[rows]
        if not isinstance(values.dtype, np.dtype) and getattr(values.dtype, "kind", "O") in "iufb":
            return values.to_numpy(np.float64, na_value=np.nan) if values.hasnans else values.to_numpy(_plain(values))
        return values.to_numpy()


class _Polars(NamedTuple):
    frame: Any

    @property
    def names(self) -> list[str]:
        return list(self.frame.columns)

    def __len__(self) -> int:
        return self.frame.height

    def column(self, name: str, rows: slice) -> np.ndarray:
        return self.frame[name][rows].to_numpy()


class _Arrow(NamedTuple):
    frame: Any

    @property
    def names(self) -> list[str]:
        return list(self.frame.column_names)

    def __len__(self) -> int:
        return self.frame.num_rows

    def column(self, name: str, rows: slice) -> np.ndarray:
        part = self.frame.column(name).slice(rows.start, rows.stop - rows.start)
        if hasattr(part, "combine_chunks"):  # a Table's column; that of a RecordBatch is in one piece
            return part.to_numpy()
        return part.to_numpy(zero_copy_only=False)


class _Columns(NamedTuple):
    frame: Mapping[str, Any]

    @property
    def names(self) -> list[str]:
        return list(self.frame)

    def __len__(self) -> int:
        return max(map(_length, self.frame.values()), default=0)

    def column(self, name: str, rows: slice) -> np.ndarray:
        values = np.asarray(self.frame[name])
        if values.shape != (len(self),):
            raise ValueError(f"columns must all be one-dimensional of length {len(self)}, got {name!r}: {values.shape}")
        return values[rows]


def _length(values: Any) -> int:
    try:
        return len(values)
    except TypeError:  # a number, whose shape `column` refuses
        return 1


_KINDS: dict[tuple[str, str], Any] = {
    ("pandas", "DataFrame"): _Pandas,
    ("polars", "DataFrame"): _Polars,
    ("pyarrow", "Table"): _Arrow,
    ("pyarrow", "RecordBatch"): _Arrow,
}


def table(frame: Any) -> Table:
    """Return `frame` as a table, without importing its library."""
    kind = type(frame)
    found = _KINDS.get((kind.__module__.partition(".")[0], kind.__name__))
    if found is not None:
        return found(frame)
    if isinstance(frame, Mapping):
        return _Columns(frame)
    hint = ": call its collect()" if kind.__name__ == "LazyFrame" else ""
    raise TypeError(
        "frame must be a pandas or polars DataFrame, a pyarrow Table or a dictionary of columns, got "
        f"{kind.__module__}.{kind.__qualname__}{hint}"
    )


def _plain(values: Any) -> Any:
    """The NumPy dtype of a pandas column whose own dtype is not NumPy's."""
    return getattr(values.dtype, "numpy_dtype", np.float64)
