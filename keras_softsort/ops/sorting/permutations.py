"""Soft permutation matrices: NeuralSort of Grover et al. (2019) and SoftSort of Prillo and Eisenschlos (2020)."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.sorting import dispatch
from keras_softsort.ops.sorting.methods import sort_arguments


@export(top_level=True)
def neural_sort(
    scores: Any,
    tau: Any = 1.0,
    *,
    top_k: int | None = None,
    hard: bool = False,
    mask: Any = None,
    direction: str = "DESCENDING",
    scale: str | None = None,
    axis: int = -1,
) -> tf.Tensor:
    """Compute the soft permutation matrix of NeuralSort, `P[..., rank, item]`: `P @ scores` are softly sorted scores.

    Use it to train through a sort. Row i of P, from 1, is `softmax_j(((n + 1 - 2 i) s_j - B_j) / tau)` with
    `B_j = sum_k |s_j - s_k|`. Every row sums to 1 and is largest at the item of that rank. As tau goes to 0, P becomes
    the permutation matrix that sorts. Large offsets and outliers of the scores cost no precision.

    Args:
      scores: floating-point `[..., n]`.
      tau: temperature in units of the scores times the list size n, positive: a number, or a tensor that broadcasts
        against the leading axes. For a spread of about 1 start with n / 10. A tensor that is not positive gives NaN.
      top_k: number of first rows to compute; None computes all.
      hard: whether to return the exact permutation, with the gradient of the soft one. Tied items keep their order.
      mask: bool `[..., n]`, True for valid items.
      direction: `"DESCENDING"` (row 0 is the largest score) or `"ASCENDING"`.
      scale: `"std"` divides the scores of each list by their standard deviation, so that one tau fits all scales.
      axis: the axis of the n items in `scores` and `mask`. The ranks take its place, and the items are the last axis:
        `[n, b]` with `axis=0` gives `P[rank, b, item]`.

    Returns:
      `[..., n, n]`, or `[..., top_k, n]`, in the dtype of `scores`. Masked items never affect the valid ones, and come
      last: the ranks after the valid items spread evenly over them. Tied items have equal weights, and share their
      gradient evenly. A list with a valid score that is not finite gives NaN in its valid rows. Empty lists give
      `[..., 0, 0]`. Half precision is computed in float32.

    Raises:
      TypeError: `scores` is not floating-point, or `mask` is not bool.
      ValueError: `tau` is not positive, `top_k` exceeds the list size, a name is unknown, or shapes do not match.

    Cost: O(top_k n + n log n) time and O(top_k n) memory, forward and backward.

    Example:
      >>> (100 * ks.ops.neural_sort([2.0, 5.0, 3.0], tau=1.0).numpy()).round().tolist()
      [[1.0, 88.0, 12.0], [24.0, 9.0, 67.0], [73.0, 0.0, 27.0]]

    Source: A. Grover et al., "Stochastic Optimization of Sorting Networks via Continuous Relaxations", ICLR 2019.
    """
    args = sort_arguments(scores, tau, mask=mask, direction=direction, scale=scale, top_k=top_k, axis=axis)
    return dispatch.permutation(args, top_k, arguments.boolean("hard", hard))


@export(top_level=True)
def soft_sort(
    scores: Any,
    tau: Any = 1.0,
    *,
    power: float = 1.0,
    top_k: int | None = None,
    hard: bool = False,
    mask: Any = None,
    direction: str = "DESCENDING",
    scale: str | None = None,
    axis: int = -1,
) -> tf.Tensor:
    """Compute the soft permutation matrix of SoftSort, `P[..., rank, item]`: `P @ scores` are softly sorted scores.

    Use it in place of `neural_sort` if tau should not depend on the list size. Row i of P is
    `softmax_j(-|sort(s)_i - s_j|^power / tau)`. For the sorted values, which other libraries call `soft_sort`, see
    `soft_values`. The shape, masked items, ties, empty lists, errors and cost are as in `neural_sort`.

    Args:
      scores, top_k, hard, mask, direction, scale, axis: as in `neural_sort`.
      tau: temperature in units of the scores to the `power`, positive: a number, or a tensor that broadcasts against
        the leading axes. For a spread of about 1 start with 0.1 to 1. A tensor that is not positive gives NaN.
      power: exponent of the distance of scores, positive. Below 1 the derivative at distance 0 is taken as 0.

    Example:
      >>> (100 * ks.ops.soft_sort([2.0, 5.0, 3.0], tau=1.0).numpy()).round().tolist()
      [[4.0, 84.0, 11.0], [24.0, 9.0, 67.0], [71.0, 4.0, 26.0]]

    Source: S. Prillo, J. Eisenschlos, "SoftSort: A Continuous Relaxation for the argsort Operator", ICML 2020.
    """
    args = sort_arguments(
        scores,
        tau,
        mask=mask,
        direction=direction,
        method="soft_sort",
        power=power,
        scale=scale,
        top_k=top_k,
        axis=axis,
    )
    return dispatch.permutation(args, top_k, arguments.boolean("hard", hard))
