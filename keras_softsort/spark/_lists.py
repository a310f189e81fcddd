"""The rows of a data frame as whole lists, in the processes that run Python for Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from keras_softsort.data._arrays import float32


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
    held: list[pd.DataFrame] = []
    last: Any = None
    for frame in frames:
        values, missing = frame[group].to_numpy(), frame.loc[frame[group].isna(), group].tolist()
        if missing:
            raise ValueError(f"group {group!r} must have a value in every row, got {missing[0]!r}")
        if len(values) == 0:
            continue
        start = int(np.argmax(values == values[-1]))  # of the last group, which the next frame may continue
        if start > 0 or (held and values[-1] != last):
            yield pd.concat([*held, frame.iloc[:start]])
            held = []
        held.append(frame.iloc[start:])
        last = values[-1]
    if held:
        yield pd.concat(held)


def matrix(frame: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    """Stack columns of numbers, or of arrays of numbers, side by side: float32 `[rows, f]`."""
    parts = []
    for name in columns:
        values = frame[name].to_numpy()
        # NumPy stacks arrays in a list, but not in an array of objects.
        parts.append(float32(values.tolist() if values.dtype == object else values, f"column {name!r}"))
    return np.column_stack(parts)
