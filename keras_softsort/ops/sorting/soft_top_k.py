"""Soft top-k: the k largest scores and what each is made of."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops._core import validation
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.sorting import _dispatch
from keras_softsort.ops.sorting._arguments import sort_arguments


class SoftTopK(NamedTuple):
    """What `soft_top_k` returns."""

    values: tf.Tensor
    weights: tf.Tensor


def soft_top_k(scores: Any, k: int, tau: Any = 1.0, *, method: str = "neural_sort", mask: Any = None) -> SoftTopK:
    """The k softly largest scores, and the first k rows of the soft permutation that they come from.

    `values = weights @ scores`, `weights = P[..., :k, :]`. Which items they are, as one number each that sum to k, is
    told by `soft_top_k_membership`.

    Args:
      scores: `[..., n]` floating-point.
      k: how many, 1 to n.
      tau: temperature of `method`: a positive number, scalar tensor or variable (see `neural_sort`, `soft_sort`).
      method: `"neural_sort"` or `"soft_sort"` (with power 1).
      mask: bool `[..., n]`, True = keep.

    Returns:
      The named tuple `(values [..., k], weights [..., k, n])` in the dtype of `scores`. Where fewer than k items are
      kept, the values beyond are 0 and their weights spread over the masked items. Tied items share evenly. A list
      with a score that is not finite gives NaN.

    Raises:
      TypeError: `scores` are not floating-point, `k` is not an integer, `mask` is not bool.
      ValueError: `k` < 1 or larger than the list, `tau` <= 0, `mask` of another shape, unknown `method`.

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
    problem = sort_arguments(scores, tau, mask=mask, method=method)
    problem = problem._replace(scores=validation.at_most_list_size("k", k, problem.scores))
    return SoftTopK(*_top_k(problem, k))


_top_k = traced_if_eager(_dispatch.top_k)
