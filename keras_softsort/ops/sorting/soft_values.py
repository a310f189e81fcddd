"""Softly sorted values: a soft permutation applied, to the scores or to tensors carried along."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops._core import validation
from keras_softsort.ops.sorting import _operators
from keras_softsort.ops.sorting._arguments import sort_arguments


def soft_values(
    scores: Any,
    tau: Any = 1.0,
    *,
    method: str = "neural_sort",
    power: float = 1.0,
    values: Any = None,
    top_k: int | None = None,
    hard: bool = False,
    mask: Any = None,
    direction: str = "DESCENDING",
) -> tf.Tensor:
    """Softly sorted scores, `P @ scores`, or other `values` carried along in that order, `P @ values`.

    P is the soft permutation of `method`, as `neural_sort` and `soft_sort` give it; each result is a mean of the values
    around its rank.

    Projections have no P, and `values` must be None. With `"projection"`: the point of the permutahedron of the scores
    (the convex hull of all their orders) that is nearest to `(n, ..., 1) / tau`. Neighbours closer than 1 / tau stay as
    they are; of a run that is pooled each value is the run's mean less what its rank is behind the run's middle, in
    units of 1 / tau. With `"projection_kl"` those means are log-sum-exp, which makes it the logarithm of a projection
    by Kullback-Leibler divergence; ascending values are then not descending ones reversed. They are those of
    `soft_sort(scores, regularization_strength=tau, regularization="l2"` or `"kl")` of fast-soft-sort and torchsort,
    whose default, and torchsort's only direction, is `"ASCENDING"`. The gradient is that of these
    values; fast-soft-sort's of `"kl"` weighs a run's items by a softmax of its ranks instead of its scores.

    Args:
      scores: `[..., n]` floating-point.
      tau: temperature of `method`: a positive number, or a tensor or variable that is a scalar or broadcasts
        against the leading axes (a temperature per list). For `"neural_sort"` and `"soft_sort"`
        see there; for projections in units of one over the scores.
      method: a method with sorted values: those described above.
      power: positive number, the exponent of the distance, for `"soft_sort"`.
      values: None (the scores themselves), `[..., n]` or `[..., n, d]`, in the dtype of `scores`.
      top_k: compute the first `top_k` values only.
      hard: give the values in exact order (ties in stable order) with the gradient of the soft ones.
      mask: bool `[..., n]`, True = keep. The values of masked items are never read.
      direction: `"DESCENDING"` or `"ASCENDING"` order of the scores.

    Returns:
      The shape of `values`, or of `scores`, with `top_k` in place of n where it is given. The ranks after the kept
      items hold 0, with zero gradient. Tied items share evenly. A list with a score that is not finite gives NaN. Empty
      lists give empty results.

    Raises:
      TypeError: `scores` or `values` are not floating-point or differ in dtype, `mask` is not bool.
      ValueError: `tau` or `power` <= 0, a `power` other than 1 with a method that has none, a shape that does not fit,
        `top_k` larger than the list, unknown `direction`, a `method` without sorted values, or without a permutation
        for `values`.

    Cost: O(n^2 d) time and O(n^2) memory on short lists. From a few hundred items on the matrix is never made: O(n)
    memory, and O(n w d) time for windows of w items, about `sqrt(30 tau / gap)` where scores lie evenly `gap` apart
    (NeuralSort), or O(n log n + n d) (SoftSort). Projections: O(n log^2 n) time whatever the scores, O(n) memory.
    Forward and backward.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> scores = tf.constant([2.0, 5.0, 3.0])
    >>> [round(float(v), 2) for v in ks.ops.soft_values(scores, tau=0.5)]
    [4.96, 2.91, 2.12]
    >>> prices = tf.constant([[20.0, 1.0], [50.0, 2.0], [30.0, 3.0]])
    >>> ks.ops.soft_values(scores, tau=0.01, values=prices).numpy().tolist()
    [[50.0, 2.0], [30.0, 3.0], [20.0, 1.0]]

    >>> ks.ops.soft_values(tf.constant([5.0, 1.0, 2.0]), 0.1, method="projection").numpy().tolist()
    [5.0, 2.0, 1.0]

    Source: as for `neural_sort`, `soft_sort` and, of projections, `soft_rank`.
    """
    args = sort_arguments(
        scores,
        tau,
        mask=mask,
        direction=direction,
        method=method,
        power=power,
        capability="values" if values is None else "permutation",
    )
    args = args._replace(scores=validation.top_k_rows(top_k, args.scores))
    hard = arguments.boolean("hard", hard)
    if values is None:
        return _operators.sorted_scores(args, top_k, hard)
    values = validation.floating_tensor("values", values)
    if values.dtype != args.scores.dtype:
        raise TypeError(f"values must have the dtype of scores, {args.scores.dtype.name}, got {values.dtype.name}")
    extra = values.shape.rank - args.scores.shape.rank
    lists = values.shape if extra == 0 else values.shape[:-1]
    if extra not in (0, 1) or not lists.is_compatible_with(args.scores.shape):
        raise ValueError(
            f"values must have shape [..., n] or [..., n, d] with scores [..., n], got {values.shape} and "
            f"{args.scores.shape}"
        )
    if extra == 0:
        return _operators.multiply(args, values[..., tf.newaxis], None, top_k, hard)[..., 0]
    return _operators.multiply(args, values, None, top_k, hard)
