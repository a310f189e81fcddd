"""Data frames and Parquet files as lists."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.data import arrays
from keras_softsort.data._frames import Groups, Table, joined, stored_index, table, unchanged
from keras_softsort.data._ranking_dataset import RankingDataset
from keras_softsort.data.files import existing_files

MISSING = ("error", "keep")
_MOST_PROBLEMS = 5  # in an error
_DECODED = 2**16  # rows of a Parquet file that are decoded at a time
_NUMBERS_OR_NONE = (type(None), bool, int, float, np.bool_, np.integer, np.floating)
_COPIED = 2**14  # rows that are copied at a time, column by column, so that they fit into the cache


@export
def from_frame(
    frame: Any,
    *,
    group: str,
    label: str | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    missing: str = "error",
) -> RankingDataset:
    """Turn a table into lists: the rows with the same value in a group column are one list.

    Start with it if your data are a table. The rows of a group need not be consecutive. Items are in the order of their
    rows, and lists in the order of their first rows.

    Args:
      frame: a pandas or polars DataFrame, a pyarrow Table or RecordBatch, or a dictionary of columns.
      group: column that identifies the lists, of any type: query ids, eras, dates, strings. It becomes `query_ids`.
      label: column of numbers of any sign (`bucketed_batches` takes those below 0 only with `padding="nan_labels"` or
        `None`); `None` for rows to score, which have no labels.
      features: columns of numbers or booleans, in the order of the features; `None` takes all other columns, without
        the index that pandas stored in a pyarrow Table or a Parquet file.
      weight: column of item weights, at least 0; `None` for no weights.
      missing: what missing values and NaN in features become. `"error"` raises an error. `"keep"` keeps them as NaN,
        for trees or for a model that replaces them.

    Returns:
      A `RankingDataset`, float32, with `feature_names`. Its `in_row_order` returns scores in the order of the rows.

    Raises:
      TypeError: `frame` is not such a table, for example a polars LazyFrame.
      ValueError: a column is missing, used twice or does not hold numbers; a number is missing, NaN, infinite or beyond
        float32 (the message has its row, counted from 0); a group has no value; a weight is below 0; there are no rows.

    Cost: linear time, and the memory of the float32 features.

    Example:
      >>> frame = {"day": ["mon", "tue", "mon"], "price": [3.0, 2.5, 4.0], "sales": [1, 0, 2]}
      >>> lists = ks.data.from_frame(frame, group="day", label="sales")
      >>> lists.sizes.tolist(), lists.features.tolist(), lists.in_row_order(-lists.features).tolist()
      ([2, 1], [[3.0], [4.0], [2.5]], [-3.0, -2.5, -4.0])
    """
    rows = table(frame)
    roles = Roles(rows.names, group, label, features, weight, missing=missing, stored_index=rows.stored_index)
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
    missing: str = "error",
) -> RankingDataset:
    """Read lists from Parquet files: the rows with the same value in a group column are one list.

    Use it for files larger than memory. The result is that of `from_frame`, but only its float32 features and one
    row group at a time are in memory. A row group takes several times its float32 size while it is read. Needs pyarrow
    (`pip install "keras-softsort[data]"`).

    Args:
      path: a file, a pattern such as `"train-*.parquet"`, or several of them with equal columns. Groups may cross
        files.
      group, label, features, weight, missing: as in `from_frame`.

    Raises:
      ImportError: pyarrow is not installed.
      ValueError: a pattern matches no file, files have different columns, or numbers and times in the group column; or
        an error of `from_frame`, with rows counted over all files.
      OSError: a file is damaged or no Parquet file. The message has its name.

    Example:
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
    schemas = [file.schema_arrow for _, file in files]
    index = frozenset().union(*map(stored_index, schemas))  # pandas stores it in some files only
    names = schemas[0].names
    for schema in schemas:
        mine, theirs = (sorted(name for name in each if name not in index) for each in (schema.names, names))
        if mine != theirs:
            raise ValueError(f"path must be files with the same columns, got {names} and {schema.names}")
    names = [name for name in names if all(name in schema.names for schema in schemas)]
    roles = Roles(names, group, label, features, weight, missing=missing, stored_index=index)

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


class Roles:
    """The names of the columns by their role, which are among `names`.

    Without `features`, all others are features that are not in `stored_index`.
    """

    def __init__(
        self,
        names: Sequence[str],
        group: str,
        label: str | None,
        features: Sequence[str] | None,
        weight: str | None,
        *,
        missing: str = "error",
        stored_index: frozenset[str] = frozenset(),
    ) -> None:
        roles = {"group": group, "label": label, "weight": weight}
        named = {role: name for role, name in roles.items() if role == "group" or name is not None}
        if features is None:
            features = [name for name in names if name not in named.values() and name not in stored_index]
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
        self.may_be_missing = set(columns) if arguments.one_of("missing", missing, MISSING) == "keep" else set()
        # All columns except the groups.
        self.numbers = used[1:]


def gathered(tables: Iterable[Table], groups: Groups, roles: Roles) -> RankingDataset:
    """Gather the rows of `tables`, one after another, as lists."""
    rows = int(groups.sizes.sum())
    features = arrays.zeros((rows, len(roles.features)))
    labels, weights = (None if name is None else arrays.zeros((rows,)) for name in (roles.label, roles.weight))
    targets = dict(zip(roles.features, features.T, strict=True))
    targets |= {name: column for name, column in ((roles.label, labels), (roles.weight, weights)) if column is not None}
    positions = None if groups.rows is None else np.argsort(groups.rows)
    first = 0
    for frame in tables:
        for start in range(0, frame.size, _COPIED):
            part = slice(start, min(start + _COPIED, frame.size))
            here = slice(first + part.start, first + part.stop)
            places = here if positions is None else positions[here]
            problems = []
            for name, target in targets.items():
                found = _numbers(frame, name, part, first, roles)
                if isinstance(found, str):
                    problems.append(found)
                else:
                    target[places] = found
            _raise_all(problems)
        first += frame.size
    return RankingDataset(features, labels, groups.sizes, groups.ids, weights, groups.rows, roles.features)


def _numbers(frame: Table, name: str, part: slice, first: int, roles: Roles) -> np.ndarray | str:
    """Convert a part of a column of `frame`, whose rows count from `first` on, to float32, or say what is wrong."""
    values = frame.column(name, part)
    is_category = name in roles.features and frame.is_category(name)
    if not is_category and values.dtype == object and all(isinstance(value, _NUMBERS_OR_NONE) for value in values):
        with contextlib.suppress(OverflowError):  # an integer beyond float64
            values = values.astype(np.float64)  # None becomes NaN
    if is_category or values.dtype.kind not in "iufb":
        kind, values = ("categories", values.astype(object)) if is_category else (str(values.dtype), values)
        example = next((value for value in values if not isinstance(value, (int, float))), values[0])
        return f"column {name!r} must hold numbers, got {kind} with {example!r}; encode it as numbers"
    with np.errstate(over="ignore"):
        numbers = values.astype(np.float32)
    valid = np.isfinite(numbers)
    if name in roles.may_be_missing:
        valid |= np.isnan(numbers)
    if np.all(valid):
        return numbers
    value, at = values[np.argmin(valid)], part.start + int(np.argmin(valid))
    label = f" (index {frame.index[at]})" if frame.index is not None and frame.index[at] != at else ""
    remedy = ': impute it, or pass missing="keep"' if np.isnan(value) and name in roles.features else ""
    return f"column {name!r} must hold finite float32 numbers, got {value} in row {first + at}{label}{remedy}"


def _raise_all(problems: list[str]) -> None:
    """Raise one error that has the `problems`, if there are any."""
    rest = len(problems) - _MOST_PROBLEMS
    if problems:
        raise ValueError("; ".join([*problems[:_MOST_PROBLEMS], *([f"and {rest} more columns"] if rest > 0 else [])]))
