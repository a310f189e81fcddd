"""What is to be sorted: the arguments that all sorting operators share, checked once and held together."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops import _checks

METHODS = ("neural_sort", "soft_sort")
# Methods that give sorted scores, ranks or memberships without being a soft permutation.
VALUE_METHODS = (*METHODS, "projection", "projection_kl")
RANK_METHODS = (*VALUE_METHODS, "lapsum")
MEMBERSHIP_METHODS = (*METHODS, "lapsum")


class SortProblem(NamedTuple):
    """Checked arguments of a soft sort; a nest of tensors and strings, so `tf.function` can take it whole."""

    scores: tf.Tensor  # [..., n], as given
    tau: tf.Tensor  # scalar of the compute dtype
    mask: tf.Tensor | None  # [..., n] bool
    direction: str
    method: str
    power: float  # of SoftSort alone


def compute_dtype(dtype: tf.DType) -> tf.DType:
    """Half precision is computed in float32; float32 and float64 as they are."""
    return tf.float32 if dtype.size < 4 else dtype


def sort_problem(
    scores: Any,
    tau: Any,
    *,
    mask: Any = None,
    direction: str = "DESCENDING",
    method: str = "neural_sort",
    methods: Collection[str] = METHODS,
    power: float = 1.0,
) -> SortProblem:
    """Check the arguments and put them together; `method` must be one of `methods`."""
    scores = _checks.list_tensor("scores", scores)
    return SortProblem(
        scores=scores,
        tau=_checks.temperature(tau, compute_dtype(scores.dtype)),
        mask=_checks.list_mask(mask, scores),
        direction=_checks.one_of("direction", direction, _checks.DIRECTIONS),
        method=_checks.one_of("method", method, methods),
        power=_checks.positive_number("power", power),
    )
