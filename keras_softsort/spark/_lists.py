"""The rows of a data frame as whole lists, in the processes that run Python for Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from keras_softsort.data.arrays import float32, runs


def by_group(frame: Any, named: dict[str, Any]) -> Any:
    """Put the rows of each group one after another in one partition. `named` holds columns by argument."""
    if isinstance(named["features"], str):
        raise TypeError(f"features must be a sequence of column names, got {named['features']!r}")
    columns = [(name, each) for name, value in named.items() for each in ([value] if isinstance(value, str) else value)]
    for name, column in columns:
        if column not in frame.columns:
            raise ValueError(f"{name} must name a column of {frame.columns}, got {column!r}")
    if not named["features"]:
        raise ValueError("features must name at least one column, got none")
    return frame.repartition(named["group"]).sortWithinPartitions(named["group"])


def whole_groups(frames: Iterable[pd.DataFrame], group: str) -> Iterator[pd.DataFrame]:
    """Frames that no group crosses, from frames sorted by group."""
    held: list[pd.DataFrame] = []  # the last group, which the next frame may continue
    for frame in frames:
        missing = frame.loc[frame[group].isna(), group].tolist()
        if missing:
            raise ValueError(f"group {group!r} must have a value in every row, got {missing[0]!r}")
        rows = pd.concat([*held, frame])
        starts, _ = runs(rows[group].to_numpy())
        if len(starts) > 1:
            yield rows.iloc[: starts[-1]]
        held = [rows.iloc[start:] for start in starts[-1:]]
    yield from held


def matrix(frame: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    """Stack columns of numbers, or of arrays of numbers, side by side: float32 `[rows, f]`."""
    parts = []
    for name in columns:
        values = frame[name].to_numpy()
        # NumPy stacks arrays in a list, but not in an array of objects.
        parts.append(float32(values.tolist() if values.dtype == object else values, f"column {name!r}"))
    return np.column_stack(parts)
