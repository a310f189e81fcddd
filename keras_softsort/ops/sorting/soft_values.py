"""Softly sorted values: a soft permutation applied, to the scores or to tensors carried along."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort.ops._core import validation
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.sorting import _dispatch
from keras_softsort.ops.sorting._arguments import METHODS, VALUE_METHODS, sort_arguments


def soft_values(
    scores: Any,
    tau: Any = 1.0,
    *,
    method: str = "neural_sort",
    values: Any = None,
    mask: Any = None,
    direction: str = "DESCENDING",
) -> tf.Tensor:
    """Softly sorted scores, `P @ scores`, or other `values` carried along in that order, `P @ values`.

    P is the soft permutation of `method`; each result is a mean of the values around its rank.

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
      tau: temperature of `method`: a positive number, scalar tensor or variable. For `"neural_sort"` and `"soft_sort"`
        see there; for projections in units of one over the scores.
      method: `"neural_sort"`, `"soft_sort"` (with power 1), `"projection"` or `"projection_kl"`.
      values: None (the scores themselves), `[..., n]` or `[..., n, d]`, in the dtype of `scores`.
      mask: bool `[..., n]`, True = keep. The values of masked items are never read.
      direction: `"DESCENDING"` or `"ASCENDING"` order of the scores.

    Returns:
      The shape of `values`, or of `scores`. The ranks after the kept items hold 0, with zero gradient. Tied items
      share evenly. A list with a score that is not finite gives NaN. Empty lists give empty results.

    Raises:
      TypeError: `scores` or `values` are not floating-point or differ in dtype, `mask` is not bool.
      ValueError: `tau` <= 0, a shape that does not fit, unknown `method` or `direction`, `values` with a projection.

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
    problem = sort_arguments(scores, tau, mask=mask, direction=direction, method=method, methods=VALUE_METHODS)
    if values is None:
        return _sorted_scores(problem)
    if method not in METHODS:
        raise ValueError(f"values must be None with method {method!r}, which has no soft permutation to carry them")
    values = validation.floating_tensor("values", values)
    if values.dtype != problem.scores.dtype:
        raise TypeError(f"values must have the dtype of scores, {problem.scores.dtype.name}, got {values.dtype.name}")
    extra = values.shape.rank - problem.scores.shape.rank
    lists = values.shape if extra == 0 else values.shape[:-1]
    if extra not in (0, 1) or not lists.is_compatible_with(problem.scores.shape):
        raise ValueError(
            f"values must have shape [..., n] or [..., n, d] with scores [..., n], got {values.shape} and "
            f"{problem.scores.shape}"
        )
    if extra == 0:
        return _sorted_vectors(problem, values[..., tf.newaxis])[..., 0]
    return _sorted_vectors(problem, values)


_sorted_scores = traced_if_eager(_dispatch.sorted_scores)
_sorted_vectors = traced_if_eager(_dispatch.multiply)
