"""Soft top-k as a subset: how much of the k places each item holds."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops._core import validation
from keras_softsort.ops.sorting import _operators
from keras_softsort.ops.sorting._arguments import sort_arguments


def soft_top_k_membership(
    scores: Any,
    k: int,
    tau: Any = 1.0,
    *,
    method: str = "lapsum",
    power: float = 1.0,
    hard: bool = False,
    mask: Any = None,
    direction: str = "DESCENDING",
) -> tf.Tensor:
    """How much each item belongs to the k largest (or smallest): numbers that sum to k.

    With `"lapsum"`: `p_i = F((s_i - b) / tau)`, F being the distribution function of Laplace's distribution, with the
    threshold b for which they sum to k, found in closed form. Each lies in [0, 1]. The method orders nothing inside the
    k, so that it has no weights `[k, n]` to offer in `soft_top_k`.

    With `"neural_sort"` and `"soft_sort"`: the columns of `P[..., :k, :]` summed, which may exceed 1 at a high tau.

    Args:
      scores: `[..., n]` floating-point.
      k: how many, 1 to n.
      tau: temperature of `method`: a positive number, or a tensor or variable that is a scalar or broadcasts
        against the leading axes (a temperature per list). For `"lapsum"` in units of the scores,
        for the others see there.
      method: a method with memberships: those described above.
      power: positive number, the exponent of the distance, for `"soft_sort"`.
      hard: give 1 for the first k items (ties in stable order) and 0 for the others, with the gradient of the soft
        memberships.
      mask: bool `[..., n]`, True = keep.
      direction: `"DESCENDING"` for the k largest scores, `"ASCENDING"` for the k smallest.

    Returns:
      `[..., n]` in the dtype of `scores`. Masked items have 0, unless fewer than k are kept: they then share what is
      left, and with `"lapsum"` every kept item has 1, with zero gradient. Tied items have equal parts,
      unless `hard`. A list with a score that is not finite gives NaN.

    Raises:
      TypeError: `scores` are not floating-point, `k` is not an integer, `mask` is not bool.
      ValueError: `k` < 1 or larger than the list, `tau` or `power` <= 0, a `power` other than 1 with a method that has
        none, `mask` of another shape, unknown `direction`, a `method` without memberships.

    Cost: `"lapsum"` O(n log n) time and O(n) memory whatever k; the others as `soft_top_k`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> parts = ks.ops.soft_top_k_membership(tf.constant([2.0, 5.0, 3.0]), k=2, tau=0.5)
    >>> [round(float(part), 2) for part in parts]
    [0.19, 1.0, 0.82]
    >>> round(float(tf.reduce_sum(parts)), 4)
    2.0

    Source: L. Struski, M. Bednarczyk, I. Podolak, J. Tabor, "LapSum - One Method to Differentiate Them All: Ranking,
    Sorting and Top-k Selection", ICML 2025, https://arxiv.org/abs/2503.06242.
    """
    k = arguments.positive_integer("k", k)
    args = sort_arguments(
        scores, tau, mask=mask, direction=direction, method=method, power=power, capability="membership"
    )
    args = args._replace(scores=validation.at_most_list_size("k", k, args.scores))
    return _operators.membership(args, k, arguments.boolean("hard", hard))
