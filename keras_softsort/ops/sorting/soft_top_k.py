"""Soft top-k: the k largest scores and the weights of the items in each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.sorting import dispatch
from keras_softsort.ops.sorting.methods import sort_arguments


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
    scale: str | None = None,
    axis: int = -1,
) -> SoftTopK:
    """Compute the k largest (or smallest) scores softly, and the weights of the items in them.

    Use it to read the k best items. `weights = P[..., :k, :]` are the first k rows of the soft permutation matrix of
    `neural_sort` or `soft_sort`, and `values = weights @ scores`. For one number per item, see `soft_top_k_membership`.

    Args:
      scores, tau, power, mask, scale: as in `soft_values`.
      k: number of items, from 1 to n.
      method: the soft permutation, `"neural_sort"` or `"soft_sort"`.
      hard: whether to return exact values and one-hot weights, with the gradient of the soft ones.
      direction: `"DESCENDING"` for the k largest scores, `"ASCENDING"` for the k smallest.
      axis: the axis of the n items in `scores` and `mask`. The k ranks take its place. The weights have items last.

    Returns:
      The named tuple `(values [..., k], weights [..., k, n])` in the dtype of `scores`. If fewer than k items are
      valid, the remaining values are 0, and their weights spread evenly over the masked items. Tied items share their
      ranks evenly, or keep their order if `hard`. A list with a valid score that is not finite gives NaN.

    Raises:
      TypeError: `scores` is not floating-point, `k` is not an integer, or `mask` is not bool.
      ValueError: `k` is below 1 or greater than the list size, or an error of `soft_values`.

    Cost: O(k n + n log n) time and O(k n) memory.

    Example:
      >>> ks.ops.soft_top_k([2.0, 5.0, 3.0], k=2, tau=0.01).values.numpy().tolist()
      [5.0, 3.0]
    """
    k = arguments.positive_integer("k", k)
    args = sort_arguments(
        scores, tau, mask=mask, direction=direction, method=method, power=power, scale=scale, axis=axis
    )
    args = args._replace(scores=arguments.at_most_list_size("k", k, args.scores))
    return SoftTopK(*dispatch.top_k(args, k, arguments.boolean("hard", hard)))


@export
def soft_top_k_membership(
    scores: Any,
    k: Any,
    tau: Any = 1.0,
    *,
    method: str = "lapsum",
    power: float = 1.0,
    hard: bool = False,
    mask: Any = None,
    direction: str = "DESCENDING",
    scale: str | None = None,
    axis: int = -1,
) -> tf.Tensor:
    """Compute how much each item belongs to the k largest (or smallest): numbers that sum to k.

    Use it to select k of n items. With `"lapsum"`, `p_i = F((s_i - b) / tau)`, where F is the distribution function of
    the Laplace distribution, and b is the threshold for which the memberships sum to k. With `"projection"`,
    `p_i = clip(s_i / tau - b, 0, 1)`: the vector of memberships nearest to the scores. Items that are far enough from
    the threshold get exactly 0 or 1, and no gradient. With `"projection_kl"`, `p_i = min(exp(s_i / tau - b), 1)`:
    exactly 1 for the first items, and above 0 for the others. With `"neural_sort"` and `"soft_sort"`, they are the
    column sums of `P[..., :k, :]`, which may exceed 1 at a high tau. The sources are those of `soft_rank`.

    Args:
      scores, power, mask, scale: as in `soft_rank`.
      k: number of items, from 1 to n. An integer, or an integer tensor that is a scalar or holds one per list. With a
        tensor the matrix methods take O(n^2) time.
      tau: temperature in units of the scores, positive: a number, or a tensor that broadcasts against the leading axes.
        For `"neural_sort"` and `"soft_sort"` see `soft_values`.
      method: `"lapsum"`, `"projection"`, `"projection_kl"`, `"neural_sort"` or `"soft_sort"`.
      hard: whether to return 1 for the first k items and 0 for the others, with the gradient of the soft memberships.
      direction: `"DESCENDING"` for the k largest scores, `"ASCENDING"` for the k smallest.
      axis: the axis of the n items in `scores`, `mask` and the memberships. A tensor k has the other axes.

    Returns:
      `[..., n]` in the dtype of `scores`. Masked items get 0 if at least k items are valid. Otherwise they share the
      remaining memberships evenly, and every valid item gets 1 and zero gradient, except with a matrix. Tied items have
      equal memberships; if `hard`, the first are chosen. A list with a valid score that is not finite gives NaN.

    Raises:
      TypeError: `scores` is not floating-point, `k` does not hold integers, or `mask` is not bool.
      ValueError: `k` is below 1 or greater than the list size, or an error of `soft_values`.
      InvalidArgumentError: a tensor `k` is out of range, and was unknown when traced. XLA drops that check.

    Cost: O(n log n) time and O(n) memory for any k; that of `soft_top_k` with a matrix.

    Example:
      >>> [round(float(part), 2) for part in ks.ops.soft_top_k_membership([2.0, 5.0, 3.0], k=2, tau=0.5)]
      [0.19, 1.0, 0.82]
    """
    args = sort_arguments(
        scores, tau, "membership", mask=mask, direction=direction, method=method, power=power, scale=scale, axis=axis
    )
    k = _checked_counts(k, args.scores)
    largest = k if isinstance(k, int) else tf.reduce_max(k)
    args = args._replace(scores=arguments.at_most_list_size("k", largest, args.scores))
    return dispatch.membership(args, k, arguments.boolean("hard", hard))


def _checked_counts(k: Any, scores: tf.Tensor) -> int | tf.Tensor:
    """Check k: a Python integer, or an int32 tensor that is a scalar or has the leading axes of `scores`."""
    if not (tf.is_tensor(k) or isinstance(k, (np.ndarray, list, tuple))):
        return arguments.positive_integer("k", k)
    k = arguments.dense_tensor("k", k)
    if not k.dtype.is_integer:
        raise TypeError(f"k must be an integer or hold integers, got dtype {k.dtype.name}")
    leading = scores.shape[:-1]
    if k.shape.rank != 0:
        if not k.shape.is_compatible_with(leading):
            raise ValueError(f"k must be a scalar or have the shape of the leading axes, {leading}, got {k.shape}")
        k = arguments.of_shape("k", k, tf.shape(scores)[:-1])
    k = tf.cast(k, tf.int32)
    return arguments.checked(k, tf.reduce_all(k >= 1), "k must be at least 1, got", tf.reduce_min(k))
