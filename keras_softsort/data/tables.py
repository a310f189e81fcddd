"""Data frames and Parquet files as lists."""

from __future__ import annotations

import contextlib
import functools
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.data import _arrays
from keras_softsort.data._files import existing_files
from keras_softsort.data._groups import Groups, joined, unchanged
from keras_softsort.data._ranking_dataset import RankingDataset

_DECODED = 2**16  # rows of a Parquet file that are decoded at a time
_COPIED = 2**14  # rows that are copied at a time, column by column, so that they fit into the cache


@export
def from_frame(
    frame: Any,
    *,
    group: str,
    label: str | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
) -> RankingDataset:
    """Turn a table into lists: the rows with the same value in a group column are one list.

    The rows of a group need not be consecutive. Items are in the order of their rows, and lists in the order of their
    first rows.

    Args:
      frame: a pandas or polars DataFrame, a pyarrow Table or RecordBatch, or a dictionary of columns.
      group: column that identifies the lists, of any type: query ids, eras, dates, strings. It becomes `query_ids`.
      label: column of numbers. Labels may have any sign; `bucketed_batches` takes those below 0 only with
        `padding="nan_labels"` or `None`. `None` for rows to score, which have no labels.
      features: columns of numbers or booleans, in the order of the features; `None` takes all other columns.
      weight: column of item weights, at least 0; `None` for no weights.

    Returns:
      A `RankingDataset`, float32, with `feature_names`. Its `in_row_order` puts scores of its items into the order of
      the rows.

    Raises:
      TypeError: `frame` is not such a table, for example a polars LazyFrame.
      ValueError: a column is missing, used twice or does not hold numbers; a number is missing, NaN, infinite or beyond
        float32 (the message has its row); a group has no value; a weight is below 0; the table has no rows.

    Cost: linear time, and the memory of the float32 features in addition to the table.

    Example:

    >>> import keras_softsort as ks
    >>> frame = {"day": ["mon", "tue", "mon"], "price": [3.0, 2.5, 4.0], "sales": [1, 0, 2]}
    >>> lists = ks.data.from_frame(frame, group="day", label="sales")
    >>> lists.query_ids.tolist(), lists.sizes.tolist(), lists.labels.tolist(), lists.features.tolist()
    (['mon', 'tue'], [2, 1], [1.0, 2.0, 0.0], [[3.0], [4.0], [2.5]])

    New rows have no labels. One score per row, in the order of the rows:

    >>> lists = ks.data.from_frame(frame, group="day", features=["price"])
    >>> lists.in_row_order(-lists.features).tolist()
    [-3.0, -2.5, -4.0]
    """
    rows = table(frame)
    roles = Roles(rows.names, group, label, features, weight)
    if not rows.size:
        raise ValueError("frame must have at least one row, got none")
    values = rows.column(group, slice(0, rows.size))
    groups = Groups(unchanged(frame[group], values) if isinstance(frame, Mapping) else values, group)
    return gathered([rows], groups, roles)


@export
def read_parquet(
    path: str | os.PathLike | Sequence[str | os.PathLike],
    *,
    group: str,
    label: str | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
) -> RankingDataset:
    """Read lists from Parquet files: the rows with the same value in a group column are one list.

    The result is that of `from_frame`, but the table is never in memory as a whole: the group column is read first, and
    the other columns some rows at a time. Needs pyarrow (`pip install "keras-softsort[data]"`).

    Args:
      path: a file, a pattern such as `"train-*.parquet"`, or several of them with the same columns. A group may have
        rows in several files.
      group: column that identifies the lists, of any type. Files may have different types of numbers there.
      label: column of numbers; `None` for rows to score, which have no labels.
      features: columns of numbers or booleans; `None` takes all other columns.
      weight: column of item weights, at least 0; `None` for no weights.

    Returns:
      A `RankingDataset`, float32, with the lists in the order of their first rows.

    Raises:
      ImportError: pyarrow is not installed.
      ValueError: a pattern matches no file, files have different columns, or numbers and times in the group column; or
        an error of `from_frame`, with rows counted over all files.
      OSError: a file is damaged or no Parquet file. The message has its name.

    Cost: linear time, and the memory of the float32 features, of 65,536 decoded rows and of pyarrow's buffer of a row
    group.

    Example:

    >>> import keras_softsort as ks
    >>> lists = ks.data.read_parquet("train.parquet", group="query", label="grade")  # doctest: +SKIP
    """
    try:
        from pyarrow import parquet  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise ImportError(
            'read_parquet needs pyarrow, which is not installed: pip install "keras-softsort[data]"'
        ) from error
    files = []
    for name in existing_files(path, "path"):
        with readable(name):
            files.append((name, parquet.ParquetFile(name)))
    names = files[0][1].schema_arrow.names
    for _, file in files:
        if sorted(file.schema_arrow.names) != sorted(names):
            raise ValueError(f"path must be files with the same columns, got {names} and {file.schema_arrow.names}")
    roles = Roles(names, group, label, features, weight)

    def tables(columns: list[str]) -> Iterator[Table]:
        return (table(batch) for name, file in files for batch in read_batches(file, name, columns))

    values = [part.column(group, slice(0, part.size)) for part in tables([group])]
    if not values:
        raise ValueError(f"path must have at least one row, got none in {path!r}")
    groups = Groups(joined(values, group), group)
    return gathered(tables(roles.numbers), groups, roles)


@contextlib.contextmanager
def readable(name: str) -> Iterator[None]:
    """Name the file in the errors of pyarrow."""
    try:
        yield
    except (ValueError, NotImplementedError, OSError) as error:
        raise OSError(f"{name} cannot be read as a Parquet file: {error}") from error


def read_batches(file: Any, name: str, columns: list[str]) -> Iterator[Any]:
    """Read some rows at a time from the open Parquet `file`, which errors call `name`."""
    with readable(name):
        for row_group in range(file.num_row_groups):  # pyarrow would buffer several of them
            yield from file.iter_batches(_DECODED, row_groups=[row_group], columns=columns)


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
        for start in range(0, table.size, _COPIED):
            part = slice(start, min(start + _COPIED, table.size))
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
