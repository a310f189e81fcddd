"""Soft top-k: the k largest scores and the weights of the items in each."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.sorting import _operators
from keras_softsort.ops.sorting._arguments import sort_arguments


@export
class SoftTopK(NamedTuple):
    """The result of `soft_top_k`."""

    values: tf.Tensor
    weights: tf.Tensor


@export(top_level=True)
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
    """Compute the k largest (or smallest) scores softly, and the weights of the items in them.

    `weights = P[..., :k, :]` are the first k rows of the soft permutation matrix, and `values = weights @ scores`. For
    one number per item that tells how much it belongs to the first k, see `soft_top_k_membership`.

    Args:
      scores: floating-point `[..., n]`.
      k: number of items, from 1 to n.
      tau: temperature, in the units of `method`: scores times list size for `"neural_sort"`, scores to the `power` for
        `"soft_sort"`. A positive number, or a tensor or variable that is a scalar or broadcasts against the leading
        axes (a temperature per list).
      method: the soft permutation, `"neural_sort"` or `"soft_sort"`.
      power: exponent of the distance of scores for `"soft_sort"`, positive.
      hard: whether to return exact values and one-hot weights, with the gradient of the soft ones. Tied items keep
        their order.
      mask: bool `[..., n]`, True for valid items.
      direction: `"DESCENDING"` for the k largest scores, `"ASCENDING"` for the k smallest.

    Returns:
      The named tuple `(values [..., k], weights [..., k, n])` in the dtype of `scores`. If fewer than k items are
      valid, the remaining values are 0, and their weights spread evenly over the masked items. Tied items share their
      ranks evenly. A list with a valid score that is not finite gives NaN.

    Raises:
      TypeError: `scores` is not floating-point, `k` is not an integer, or `mask` is not bool.
      ValueError: `k` is below 1 or greater than the list size, `tau` or `power` is not positive, `power` is not 1 with
        a method that has none, `mask` has another shape, `direction` is unknown, or `method` has no permutation matrix.

    Cost: O(k n + n log n) time and O(k n) memory.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> values, weights = ks.ops.soft_top_k(tf.constant([2.0, 5.0, 3.0]), k=2, tau=0.01)
    >>> values.numpy().tolist(), weights.numpy().tolist()
    ([5.0, 3.0], [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])

    Source: that of `neural_sort` and `soft_sort`.
    """
    k = arguments.positive_integer("k", k)
    args = sort_arguments(scores, tau, mask=mask, direction=direction, method=method, power=power)
    args = args._replace(scores=arguments.at_most_list_size("k", k, args.scores))
    return SoftTopK(*_operators.top_k(args, k, arguments.boolean("hard", hard)))
