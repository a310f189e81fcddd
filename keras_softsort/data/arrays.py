"""Arrays of float32, from anything that NumPy converts, and runs of equal values."""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
import tensorflow as tf


def zeros(shape: tuple[int, ...]) -> np.ndarray:
    """Allocate float32 zeros in aligned memory pages of their own, which are returned when the array is freed."""
    count = math.prod(shape)
    return np.frombuffer(mmap.mmap(-1, max(4 * count, 1)), np.float32, count).reshape(shape)


def float32(values: Any, title: str) -> np.ndarray:
    """Round `values` to float32 without a copy.

    If they are not numbers, or a finite one would become infinite, an error names `title`.
    """
    try:
        given = np.asarray(values)
    except ValueError as error:  # NumPy makes no array of rows of different lengths
        raise ValueError(f"{title} must be one array, got rows of different lengths") from error
    if given.dtype.kind not in "iufb":
        given = _decimals(given, title)
    return fitted(given, tf.float32, title)


def fitted(array: np.ndarray, dtype: tf.DType, title: str) -> np.ndarray:
    """Cast `array`, which errors name `title`. Integers must not change, and finite numbers must stay finite."""
    target = dtype.as_numpy_dtype
    if array.dtype == target or not array.size:  # NumPy takes an empty list for floating-point numbers
        return array.astype(target, copy=False)
    if not np.can_cast(array.dtype, target, "same_kind"):
        raise ValueError(f"{title} must be of dtype {dtype.name}, got {array.dtype} with {array.ravel().tolist()[0]!r}")
    with np.errstate(over="ignore"):
        cast = array.astype(target)
    is_lost = cast != array if dtype.is_integer else np.isinf(cast) & ~np.isinf(array)
    if np.any(is_lost):
        raise ValueError(f"{title} must fit into {dtype.name}, got {array[is_lost].tolist()[0]}")
    return cast


def _decimals(given: np.ndarray, title: str) -> np.ndarray:
    """Convert objects that are numbers, or NumPy's extended types such as bfloat16, to float64."""
    try:
        if given.dtype.kind not in "OV":
            raise TypeError(f"{given.dtype} is no type of numbers")
        return given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        example = next((one for one in given.ravel().tolist() if not isinstance(one, (int, float))), None)
        raise ValueError(f"{title} must hold numbers, got {given.dtype} with {example!r}: {error}") from error


def runs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the runs of equal `values`: the index of the first of each run, and the lengths of the runs."""
    is_first = np.ones(len(values), bool)
    is_first[1:] = values[1:] != values[:-1]
    starts = np.flatnonzero(is_first)
    return starts, np.diff(starts, append=len(values))


def counted(count: int, noun: str) -> str:
    """Such as "1 list" or "2 lists"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
