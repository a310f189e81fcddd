"""Soft ranks: the rank of each item, with gradients."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort.ops import _engine
from keras_softsort.ops._compile import compiled_when_eager
from keras_softsort.ops._problem import SortProblem, sort_problem


def soft_rank(
    scores: Any,
    tau: Any = 1.0,
    *,
    method: str = "neural_sort",
    mask: Any = None,
    direction: str = "DESCENDING",
) -> tf.Tensor:
    """Soft ranks, 1 = first: `P^T (1, ..., n)`, not renormalised.

    The columns of P sum to 1 only as tau goes to 0 (its rows always do), so at a high temperature ranks may leave
    the range 1 to n.

    Args:
      scores: `[..., n]` floating-point.
      tau: temperature of `method`: a positive number, scalar tensor or variable (see `neural_sort`, `soft_sort`).
      method: `"neural_sort"` or `"soft_sort"` (with power 1).
      mask: bool `[..., n]`, True = keep.
      direction: with `"DESCENDING"` rank 1 is the largest score, with `"ASCENDING"` the smallest.

    Returns:
      `[..., n]` in the dtype of `scores`. Masked items have rank 0, which no kept item has, and zero gradient. Tied
      items have equal ranks. A list with a score that is not finite gives NaN. Empty lists give empty results.

    Raises:
      TypeError: `scores` are not floating-point, `mask` is not bool.
      ValueError: `tau` <= 0, `mask` of another shape, unknown `method` or `direction`.

    Cost: that of `soft_values`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> ks.ops.soft_rank(tf.constant([2.0, 5.0, 3.0]), tau=0.01).numpy().tolist()
    [3.0, 1.0, 2.0]
    >>> ks.ops.soft_rank(tf.constant([2.0, 2.0, 3.0]), tau=0.01).numpy().tolist()
    [2.5, 2.5, 1.0]

    Source: as for `neural_sort` and `soft_sort`.
    """
    return _ranks(sort_problem(scores, tau, mask=mask, direction=direction, method=method))


@compiled_when_eager
def _ranks(problem: SortProblem) -> tf.Tensor:
    return _engine.soft_ranks(problem)
