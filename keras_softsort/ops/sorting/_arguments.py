"""What is to be sorted: the arguments that all sorting operators share, checked once and held together."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops._core import validation
from keras_softsort.ops._core.dtypes import compute_dtype

METHODS = ("neural_sort", "soft_sort")
# Methods that give sorted scores, ranks or memberships without being a soft permutation.
VALUE_METHODS = (*METHODS, "projection", "projection_kl")
RANK_METHODS = (*VALUE_METHODS, "lapsum")
MEMBERSHIP_METHODS = (*METHODS, "lapsum")


class SortArguments(NamedTuple):
    """Checked arguments of a soft sort; a nest of tensors and strings, so `tf.function` can take it whole."""

    scores: tf.Tensor  # [..., n], as given
    tau: tf.Tensor  # in the compute dtype: a scalar, or broadcasts against the leading axes
    mask: tf.Tensor | None  # [..., n] bool
    direction: str
    method: str
    power: float  # of SoftSort alone


def sort_arguments(
    scores: Any,
    tau: Any,
    *,
    mask: Any = None,
    direction: str = "DESCENDING",
    method: str = "neural_sort",
    methods: Collection[str] = METHODS,
    power: float = 1.0,
) -> SortArguments:
    """Check the arguments and put them together; `method` must be one of `methods`."""
    scores = validation.list_tensor("scores", scores)
    return SortArguments(
        scores=scores,
        tau=validation.temperature(tau, compute_dtype(scores.dtype), scores),
        mask=validation.list_mask(mask, scores),
        direction=arguments.one_of("direction", direction, arguments.DIRECTIONS),
        method=arguments.one_of("method", method, methods),
        power=arguments.positive_number("power", power),
    )
