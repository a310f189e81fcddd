"""SoftSort: the soft permutation matrix of Prillo and Eisenschlos (2020)."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops._core import validation
from keras_softsort.ops.sorting import _operators
from keras_softsort.ops.sorting._arguments import sort_arguments


def soft_sort(
    scores: Any,
    tau: Any = 1.0,
    *,
    power: float = 1.0,
    top_k: int | None = None,
    hard: bool = False,
    mask: Any = None,
    direction: str = "DESCENDING",
) -> tf.Tensor:
    """The soft permutation matrix of SoftSort: `P[..., rank, item]`, so that `P @ scores` is softly sorted.

    Row i is `softmax_j(-|sort(s)_i - s_j|^power / tau)`. Every row sums to 1 and peaks at the item of that rank; as
    tau goes to 0 the matrix becomes the permutation that sorts.

    Args:
      scores: `[..., n]`, float16, bfloat16, float32 or float64.
      tau: temperature, a positive number, or a tensor or variable that is a scalar or broadcasts
        against the leading axes (a temperature per list), in units of the scores to the `power`. A
        tensor that is not positive gives NaN.
      power: positive number, the exponent of the distance. Below 1 the slope at distance 0 is taken as 0.
      top_k: compute the first `top_k` rows only.
      hard: give the exact permutation (ties in stable order) with the gradient of the soft one.
      mask: bool `[..., n]`, True = keep. Padding changes neither value nor gradient of what is kept.
      direction: `"DESCENDING"` (row 0 = the largest score) or `"ASCENDING"`.

    Returns:
      `[..., n, n]`, or `[..., top_k, n]`, in the dtype of `scores` (computed in float32 for half precision).
      Masked items come last: the ranks after the kept items spread evenly over the masked ones. Tied items have
      equal weights, and the gradient of `|0|` is 0. A list that holds NaN or infinity gives NaN in its kept rows and
      changes no other list. Empty lists give `[..., 0, 0]`.

    Raises:
      TypeError: `scores` are not floating-point, `mask` is not bool.
      ValueError: `tau` or `power` <= 0, `mask` of another shape, `top_k` larger than the list, unknown `direction`.

    Cost: O(top_k n + n log n) time and O(top_k n) memory, forward and backward.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> scores = tf.constant([2.0, 5.0, 3.0])
    >>> tf.round(100 * ks.ops.soft_sort(scores, tau=1.0)).numpy().astype(int).tolist()
    [[4, 84, 11], [24, 9, 67], [71, 4, 26]]
    >>> tf.round(100 * ks.ops.soft_sort(scores, tau=1.0, power=2.0)).numpy().astype(int).tolist()
    [[0, 98, 2], [27, 1, 72], [73, 0, 27]]

    Source: S. Prillo, J. Eisenschlos, "SoftSort: A Continuous Relaxation for the argsort Operator", ICML 2020.
    """
    args = sort_arguments(scores, tau, mask=mask, direction=direction, method="soft_sort", power=power)
    args = args._replace(scores=validation.top_k_rows(top_k, args.scores))
    run = _operators.permutation if top_k is None else _operators.leading_rows
    return run(args, top_k, arguments.boolean("hard", hard))
