"""Soft top-k: the k largest scores and what each is made of."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops._core import validation
from keras_softsort.ops.sorting import _operators
from keras_softsort.ops.sorting._arguments import sort_arguments


class SoftTopK(NamedTuple):
    """What `soft_top_k` returns."""

    values: tf.Tensor
    weights: tf.Tensor


def soft_top_k(
    scores: Any,
    k: int,
    tau: Any = 1.0,
    *,
    method: str = "neural_sort",
    power: float = 1.0,
    hard: bool = False,
    mask: Any = None,
    direction: str = "DESCENDING",
) -> SoftTopK:
    """The k softly largest (or smallest) scores, and the first k rows of the soft permutation that they come from.

    `values = weights @ scores`, `weights = P[..., :k, :]`. Which items they are, as one number each that sum to k, is
    told by `soft_top_k_membership`.

    Args:
      scores: `[..., n]` floating-point.
      k: how many, 1 to n.
      tau: temperature of `method`: a positive number, or a tensor or variable that is a scalar or broadcasts
        against the leading axes (a temperature per list) (see `neural_sort`, `soft_sort`).
      method: a method with a permutation, as `neural_sort` and `soft_sort` give it.
      power: positive number, the exponent of the distance, for `"soft_sort"`.
      hard: give the exact values and one-hot weights (ties in stable order) with the gradient of the soft ones.
      mask: bool `[..., n]`, True = keep.
      direction: `"DESCENDING"` for the k largest scores, `"ASCENDING"` for the k smallest.

    Returns:
      The named tuple `(values [..., k], weights [..., k, n])` in the dtype of `scores`. Where fewer than k items are
      kept, the values beyond are 0 and their weights spread over the masked items. Tied items share evenly. A list
      with a score that is not finite gives NaN.

    Raises:
      TypeError: `scores` are not floating-point, `k` is not an integer, `mask` is not bool.
      ValueError: `k` < 1 or larger than the list, `tau` or `power` <= 0, a `power` other than 1 with a method that has
        none, `mask` of another shape, unknown `direction`, a `method` without a permutation.

    Cost: O(k n + n log n) time and O(k n) memory.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> values, weights = ks.ops.soft_top_k(tf.constant([2.0, 5.0, 3.0]), k=2, tau=0.01)
    >>> values.numpy().tolist(), weights.numpy().tolist()
    ([5.0, 3.0], [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])

    Source: as for `neural_sort` and `soft_sort`.
    """
    k = arguments.positive_integer("k", k)
    args = sort_arguments(scores, tau, mask=mask, direction=direction, method=method, power=power)
    args = args._replace(scores=validation.at_most_list_size("k", k, args.scores))
    return SoftTopK(*_operators.top_k(args, k, arguments.boolean("hard", hard)))
