"""The arguments that all sorting operators share, and their checks."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort.ops._core.thresholds import Thresholds
from keras_softsort.ops.sorting._methods import registry


class SortArguments(NamedTuple):
    """Checked arguments of a soft sort. `tf.function` accepts it, since it is a nest of tensors and Python values."""

    scores: tf.Tensor  # [..., n], as given
    tau: tf.Tensor  # in the compute dtype: a scalar, or broadcasts against the leading axes
    mask: tf.Tensor | None  # [..., n] bool
    direction: str
    method: str
    power: float
    thresholds: Thresholds


def sort_arguments(
    scores: Any,
    tau: Any,
    *,
    mask: Any = None,
    direction: str = "DESCENDING",
    method: str = "neural_sort",
    capability: str = "permutation",
    power: float = 1.0,
    thresholds: Thresholds | None = None,
) -> SortArguments:
    """Check the arguments. `method` must have `capability`."""
    scores = arguments.list_tensor("scores", scores)
    method = registry.checked_method(method, capability)
    power = registry.checked_power(power, method)
    return SortArguments(
        scores=scores,
        tau=arguments.temperature(tau, compute_dtype(scores.dtype), scores),
        mask=arguments.list_mask(mask, scores),
        direction=arguments.one_of("direction", direction, arguments.DIRECTIONS),
        method=method,
        power=power,
        thresholds=registry.thresholds(method, power) if thresholds is None else thresholds,
    )
