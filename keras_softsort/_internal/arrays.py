"""NumPy arrays: checks of arguments, and the sizes that lists are padded to."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

# Two sizes per power of 2, so that a function of padded lists is traced a few times at most, whatever the data. From
# size 8 on, padding makes a list less than 1.5 times as long, and its pairs less than 2.25 times as many.
_PADDED_SIZES = np.array([8] + [size * 2**power for power in range(30) for size in (12, 16)])


def padded_sizes(sizes: np.ndarray) -> np.ndarray:
    """The sizes that lists of these `sizes` are padded to."""
    return _PADDED_SIZES[np.searchsorted(_PADDED_SIZES, sizes)]


def real_array(name: str, value: Any) -> np.ndarray:
    """Return `value` as an array of float64."""
    try:
        given = np.asarray(value)
        if given.dtype.kind in "USc":  # NumPy would read numbers in text, and drop imaginary parts
            raise TypeError(f"{given.dtype} is no type of real numbers")
        return given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold numbers, got {reprlib.repr(value)}") from error


def integer_array(name: str, value: Any) -> np.ndarray:
    """Return `value`, integers of any dtype, as an array of int64."""
    given = np.asarray(value) if hasattr(value, "dtype") else None
    if given is not None and given.dtype.kind in "iu":
        return given.astype(np.int64)
    numbers = real_array(name, value)
    is_whole = np.isfinite(numbers) & (numbers == np.floor(numbers))
    if not is_whole.all():
        raise ValueError(f"{name} must hold integers, got {numbers[~is_whole][0]}")
    return np.asarray(value).astype(np.int64)
