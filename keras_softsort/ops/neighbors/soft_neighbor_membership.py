"""Soft memberships of candidates in the k nearest neighbors of queries."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.neighbors._embeddings import checked_candidates
from keras_softsort.ops.neighbors._soft import (
    SoftNeighborOptions,
    checked_search,
    membership,
    soft_neighbor_options,
    sorted_candidates,
)


@export
def soft_neighbor_membership(
    queries: Any,
    candidates: Any,
    k: int,
    tau: Any = 1.0,
    *,
    mask: Any = None,
    distance: str = "squared_euclidean",
    method: str = "neural_sort",
    power: float = 1.0,
    scale: str | None = None,
    num_samples: int | None = None,
    seed: Any = None,
) -> tf.Tensor:
    """Compute the soft membership of each candidate in the k nearest neighbors of each query.

    The membership `m_ij` of candidate j for query i is the sum over the first k rows of a soft permutation that sorts
    the candidates by distance, the nearest first. The memberships of a query sum to k. As `tau` goes to 0, they become
    1 for the k nearest candidates and 0 for the others.

    Args:
      queries: embeddings `[..., q, d]`.
      candidates: embeddings `[..., c, d]` with the same leading axes.
      k: number of neighbors, below c.
      tau: temperature of `method`, positive, a scalar or `[..., q]`. Its unit is that of the logits: for NeuralSort
        distances times the number of candidates, for SoftSort distances.
      mask: bool `[..., c]`, True for valid candidates. Masked ones get 0 and change nothing. If fewer than k are
        valid, the memberships sum to their number.
      distance: `"squared_euclidean"`, `"euclidean"` (with gradient 0 at distance 0), `"cityblock"` (the sum of absolute
        differences), `"cosine"` (1 - cos; 1 for a vector of zeros), or `"dot"` (minus the inner product).
      method: `"neural_sort"` or `"soft_sort"`.
      power: exponent of SoftSort's distance of scores.
      scale: `"std"` divides the distances of each query by their standard deviation: tau then means
        the same for distances of any scale. Masked candidates do not count. None does not divide.
      num_samples: number of relaxed Plackett-Luce samples that the result is the mean of: Gumbel noise is added to the
        negative distances. None: no noise.
      seed: two integers, given with `num_samples`. Equal seeds give equal noise.

    Returns:
      `[..., q, c]` in the dtype of `queries`; half precision is computed in float32. Equally distant candidates share
      evenly. A query with an embedding that is not finite, its own or a valid candidate's, gets NaN.

    Raises:
      ValueError: `k` is below 1 or not below c, `num_samples` is below 1 or given without `seed`, `tau` is not
        positive, `distance`, `method` or `scale` is unknown, or shapes do not match.
      TypeError: embeddings are not floating-point, a mask is not bool, or an argument has another type.
      InvalidArgumentError: `k` is not below c, and c was unknown when traced. XLA drops that check.

    Cost: O(q c (d + k + log c)) time and O(k q c) memory per sample.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> queries, candidates = tf.constant([[0.1], [2.9]]), tf.constant([[0.0], [1.0], [2.0], [3.0]])
    >>> ks.ops.soft_neighbor_membership(queries, candidates, k=2, tau=0.01).numpy().round(3).tolist()
    [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]

    Source: A. Grover, E. Wang, A. Zweig, S. Ermon, "Stochastic Optimization of Sorting Networks via Continuous
    Relaxations", ICLR 2019, section 6.3.
    """
    queries = arguments.floating_tensor("queries", queries)
    candidates = arguments.floating_tensor("candidates", candidates)
    search = checked_search(k=k, distance=distance, method=method, power=power, scale=scale)
    options = soft_neighbor_options(queries, tau, num_samples, seed, search)
    candidates = checked_candidates(queries, candidates, options.k)
    mask = None if mask is None else arguments.list_mask(mask, candidates[..., 0], masked="candidates")
    return _membership(queries, candidates, mask, options)


@traced_if_eager
def _membership(
    queries: tf.Tensor, candidates: tf.Tensor, mask: tf.Tensor | None, options: SoftNeighborOptions
) -> tf.Tensor:
    dtype = compute_dtype(queries.dtype)
    candidates = tf.cast(candidates, dtype)
    if mask is not None:
        candidates = tf.where(mask[..., tf.newaxis], candidates, tf.zeros_like(candidates))
        mask = mask[..., tf.newaxis, :]
    sorting = sorted_candidates(tf.cast(queries, dtype), candidates, mask, options)
    return tf.cast(membership(sorting, options.k), queries.dtype)
