"""The registered methods. No other module of the package uses the name of a method."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort.ops._core.thresholds import Thresholds
from keras_softsort.ops._core.tracing import is_compiled
from keras_softsort.ops.sorting._methods.lapsum import LAPSUM
from keras_softsort.ops.sorting._methods.method import Method
from keras_softsort.ops.sorting._methods.neural_sort import NEURAL_SORT
from keras_softsort.ops.sorting._methods.projection import PROJECTION, PROJECTION_KL
from keras_softsort.ops.sorting._methods.soft_sort import SOFT_SORT

# The capabilities that an operator may require, and the fields of `Method`, any of which provides it.
CAPABILITIES = {
    "permutation": ("row_logits", "rows"),
    "values": ("row_logits", "rows", "sorted_scores"),
    "ranks": ("row_logits", "rows", "ranks"),
    "membership": ("row_logits", "rows", "membership"),
}
_METHODS: dict[str, Method] = {}


def register(method: Method) -> Method:
    """Register `method`, so that every operator, layer and loss knows its name."""
    if method.name in _METHODS:
        raise ValueError(f"method names must be unique, got {method.name!r}, which is registered already")
    _METHODS[method.name] = method
    return method


def unregister(name: str) -> None:
    """Remove a method from the registry."""
    del _METHODS[name]


def get(name: str) -> Method:
    """The method with this name."""
    return _METHODS[name]


def names(capability: str = "permutation") -> tuple[str, ...]:
    """The names of the methods that give `capability`, sorted."""
    return tuple(sorted(name for name, method in _METHODS.items() if _has(method, capability)))


def checked_method(method: Any, capability: str = "permutation") -> str:
    """Return `method`, checked to be the name of a method with `capability`."""
    allowed = names(capability)
    if method not in allowed:
        lacks = f", which has no {capability}" if isinstance(method, str) and method in _METHODS else ""
        raise ValueError(f"method must be one of {list(allowed)}, got {method!r}{lacks}")
    return method


def checked_power(power: Any, method: str) -> float:
    """Return `power`, checked to be positive, and 1 for a method without a power."""
    number = arguments.positive_number("power", power)
    if number != 1 and not get(method).takes_power:
        raise ValueError(f"power must be 1 with method {method!r}, which has none, got {power!r}")
    return number


def thresholds(method: str, power: float, compiled: bool | None = None) -> Thresholds:
    """The list sizes at which the algorithms of that method change, `compiled` by XLA or not (default: as traced)."""
    known = get(method)
    matrix_free = None if known.matrix_free is None else known.matrix_free(power)
    if matrix_free is None:
        return known.thresholds
    compiled = is_compiled() if compiled is None else compiled
    min_size = matrix_free.min_size_compiled if compiled else matrix_free.min_size
    return known.thresholds._replace(matrix_free_min_size=min_size)


def _has(method: Method, capability: str) -> bool:
    return any(getattr(method, field) is not None for field in CAPABILITIES[capability])


for _method in (NEURAL_SORT, SOFT_SORT, PROJECTION, PROJECTION_KL, LAPSUM):
    register(_method)
