"""Soft k nearest neighbors: the first k rows of the soft permutation of negative distances, and the loss of DkNN."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort._internal.not_a_number import zero_or_nan
from keras_softsort.ops.core import gumbel_noise
from keras_softsort.ops.core.deviations import checked_scale, in_deviations
from keras_softsort.ops.core.distances import DISTANCES, pairwise_distances
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.core.tracing import traced_if_eager
from keras_softsort.ops.neighbors.embeddings import agreement, checked_candidates, class_rows, number_of_rows
from keras_softsort.ops.sorting import dispatch, methods
from keras_softsort.ops.sorting.methods import SortArguments, sort_arguments

OBJECTIVES = ("linear", "log")


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

    Use it to train through a search for neighbors. The membership `m_ij` of candidate j for query i is the sum over the
    first k rows of a soft permutation that sorts the candidates by distance, the nearest first. The memberships of a
    query sum to k. As `tau` goes to 0, they become 1 for the k nearest candidates and 0 for the others.

    Args:
      queries: embeddings `[..., q, d]`.
      candidates: embeddings `[..., c, d]` with the same leading axes.
      k: number of neighbors, below c.
      tau: temperature in units of `method`, positive, a scalar or `[..., q]`: for NeuralSort distances times the number
        of candidates, for SoftSort distances.
      mask: bool `[..., c]`, True for valid candidates. Masked ones get 0. If fewer than k are valid, the memberships
        sum to their number.
      distance: as in `nearest_neighbors`. `"euclidean"` has gradient 0 at distance 0.
      method: `"neural_sort"` or `"soft_sort"`.
      power: exponent of the distance of scores for `"soft_sort"`, positive.
      scale: `"std"` divides the distances of each query by their standard deviation over valid candidates.
      num_samples: number of samples to average, for which Gumbel noise is added to the negative distances, after
        `scale` (relaxed Plackett-Luce samples). None: no noise.
      seed: two integers, the stateless seed of the noise; required with `num_samples`.

    Returns:
      `[..., q, c]` in the dtype of `queries`. Equally distant candidates share evenly. A query with an embedding that
      is not finite, its own or a valid candidate's, gets NaN. Half precision is computed in float32.

    Raises:
      ValueError: `k` is below 1 or not below c (an InvalidArgumentError if c was unknown when traced; XLA drops that
        check), `num_samples` is below 1 or given without `seed`, `tau` is not positive, or names or shapes are wrong.
      TypeError: embeddings are not floating-point, a mask is not bool, or another type is wrong.

    Cost: O(q c (d + k + log c)) time and O(k q c) memory per sample.

    Example:
      >>> ks.ops.soft_neighbor_membership([[0.1]], [[0.0], [1.0], [2.0]], k=2, tau=0.01).numpy().round(3).tolist()
      [[1.0, 1.0, 0.0]]

    Source: section 6.3 of the paper on NeuralSort, see `neural_sort`.
    """
    queries = arguments.floating_tensor("queries", queries)
    candidates = arguments.floating_tensor("candidates", candidates)
    search = checked_search(k=k, distance=distance, method=method, power=power, scale=scale)
    options = _options(queries, tau, num_samples, seed, search)
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
    sorting = _sorted_candidates(tf.cast(queries, dtype), candidates, mask, options)
    return tf.cast(_mean_membership(sorting, options.k), queries.dtype)


@export
def dknn_loss(
    embeddings: Any,
    labels: Any,
    k: int,
    tau: Any = 1.0,
    *,
    num_queries: int | None = None,
    mask: Any = None,
    objective: str = "linear",
    distance: str = "squared_euclidean",
    method: str = "neural_sort",
    power: float = 1.0,
    scale: str | None = None,
    num_samples: int | None = None,
    seed: Any = None,
) -> tf.Tensor:
    """Compute minus the share of each query's soft k nearest neighbors that have its class (DkNN).

    Embeddings come first and labels second, unlike in Keras and scikit-learn.

    The loss is `-s_i` or `-log s_i`, with the share `s_i = sum_j m_ij [y_i = y_j] / k` and the memberships m of
    `soft_neighbor_membership`. A query is never its own candidate. See `DkNNLoss`, the mean over queries, for its use.

    Args:
      embeddings: `[batch, d]`.
      labels: classes `[batch]` or `[batch, 1]`, or rows `[batch, classes]`, one-hot or shares of classes, whose inner
        product replaces `[y_i = y_j]`.
      k, tau, distance, method, power, scale, num_samples, seed: as in `soft_neighbor_membership`.
      num_queries: the first `num_queries` items are the queries, and the others the candidates. None: every item is a
        query and the rest of the batch its candidates.
      mask: bool `[batch]`, True for valid items. The others are not candidates, and their own loss is 0.
      objective: `"linear"`: minus the share, in [-1, 0]. `"log"`: minus the logarithm of the share, which has a
        gradient even if the share underflows.

    Returns:
      `[q]`, one loss per query, in the dtype of `embeddings`. A query without a candidate of its class has 0 with both
      objectives, and a zero gradient. Ranks that padding leaves empty count as wrong. An embedding that is not finite,
      or a NaN label, gives NaN to its own loss and to those of its queries.

    Raises:
      ValueError: `num_queries` is below 1, `objective` is unknown, the batch has at most `num_queries + k` items
        (`1 + k` without `num_queries`; an InvalidArgumentError if its size was unknown when traced, and NaN under XLA),
        or an error of `soft_neighbor_membership`.
      TypeError: embeddings are not floating-point, labels are not numbers, or another type is wrong.

    Cost and source: those of `soft_neighbor_membership`.

    Example:
      >>> ks.ops.dknn_loss([[0.0], [0.1], [1.0], [1.2]], [0, 0, 1, 1], k=1, tau=0.01).numpy().round(3).tolist()
      [-1.0, -1.0, -1.0, -1.0]
    """
    embeddings = arguments.floating_tensor("embeddings", embeddings)
    if embeddings.shape.rank != 2:
        raise ValueError(f"embeddings must have shape [batch, d], got {embeddings.shape}")
    num_queries = arguments.optional_positive_integer("num_queries", num_queries)
    search = checked_search(k=k, distance=distance, method=method, power=power, scale=scale)
    options = _options(embeddings[:num_queries], tau, num_samples, seed, search)
    embeddings = _more_than(embeddings, num_queries, options.k)
    labels = class_rows("labels", labels, embeddings)
    mask = None if mask is None else arguments.list_mask(mask, embeddings[:, 0], masked="embeddings without d")
    objective = arguments.one_of("objective", objective, OBJECTIVES)
    return _losses(embeddings, labels, mask, options, num_queries=num_queries, objective=objective)


@traced_if_eager
def _losses(
    embeddings: tf.Tensor,
    labels: tf.Tensor,
    mask: tf.Tensor | None,
    options: SoftNeighborOptions,
    *,
    num_queries: int | None,
    objective: str,
) -> tf.Tensor:
    vectors = tf.cast(embeddings, compute_dtype(embeddings.dtype))
    is_valid = tf.ones_like(vectors[:, 0], tf.bool) if mask is None else mask
    vectors = tf.where(is_valid[:, tf.newaxis], vectors, tf.zeros_like(vectors))

    first, others = slice(0, num_queries), slice(num_queries or 0, None)
    pairs = tf.logical_and(tf.ones_like(is_valid[first])[:, tf.newaxis], is_valid[others])
    if num_queries is None:
        pairs = tf.linalg.set_diag(pairs, tf.zeros_like(is_valid))
    correct = agreement(labels[first], labels[others], vectors.dtype)
    correct = tf.where(pairs, correct, tf.zeros_like(correct))
    sorting = _sorted_candidates(vectors[first], vectors[others], pairs, options)
    if objective == "log":
        losses = -_log_share(sorting, options.k, correct)
    else:
        losses = -tf.reduce_sum(_mean_membership(sorting, options.k) * correct, axis=-1) / options.k
    return tf.cast(tf.where(is_valid[first], losses, tf.zeros_like(losses)), embeddings.dtype)


def _more_than(embeddings: tf.Tensor, num_queries: int | None, k: int) -> tf.Tensor:
    """Check that `embeddings` hold more than k candidates for each query."""
    least, size = (num_queries or 1) + k, number_of_rows(embeddings)
    what = f"{'1' if num_queries is None else 'num_queries'} + k = {least}"
    return arguments.checked(embeddings, size > least, f"embeddings must hold more than {what} items, got", size)


class SoftNeighborOptions(NamedTuple):
    """Checked options; a nest of tensors and Python values, so `tf.function` can take it whole."""

    tau: tf.Tensor
    num_samples: int | None
    seed: tf.Tensor | None
    k: int
    distance: str
    method: str
    power: float
    scale: str | None


def checked_search(*, k: Any, distance: Any, method: Any, power: Any, scale: Any) -> dict[str, Any]:
    """Check the options that say which candidates are near, of the operators, the loss and the layer."""
    return {
        "k": arguments.positive_integer("k", k),
        "distance": arguments.one_of("distance", distance, DISTANCES),
        "method": methods.checked_method(method),
        "power": methods.checked_power(power, method),
        "scale": checked_scale(scale),
    }


def _options(queries: tf.Tensor, tau: Any, num_samples: Any, seed: Any, search: dict[str, Any]) -> SoftNeighborOptions:
    """Add `tau`, one for all or one per query of `queries` [..., q, d], and the noise to the checked `search`."""
    if (num_samples is None) != (seed is None):
        raise ValueError(f"num_samples and seed must be given together, got {num_samples!r} and {seed!r}")
    return SoftNeighborOptions(
        tau=arguments.temperature(tau, compute_dtype(queries.dtype), queries),
        num_samples=arguments.optional_positive_integer("num_samples", num_samples),
        seed=None if seed is None else gumbel_noise.seed_tensor(seed),
        **search,
    )


def _sorted_candidates(
    queries: tf.Tensor, candidates: tf.Tensor, mask: tf.Tensor | None, options: SoftNeighborOptions
) -> SortArguments:
    """The arguments for sorting the candidates of each query [samples, ..., q, c] with noise, the nearest first."""
    of_any = None if mask is None else tf.reduce_any(mask, axis=-2)
    scores = -pairwise_distances(queries, candidates, options.distance, of_any)
    if options.scale is not None:  # before the noise, which is in the units of tau
        scores = in_deviations(scores, mask, from_origin=True)
    shape = tf.concat([[options.num_samples or 1], tf.shape(scores)], axis=0)
    scores = scores[tf.newaxis]
    if options.num_samples is not None:
        scores += gumbel_noise.gumbel(shape, options.seed, scores.dtype)
    mask = None if mask is None else tf.broadcast_to(mask, shape)
    return sort_arguments(scores, options.tau, mask=mask, method=options.method, power=options.power)


def _mean_membership(sorting: SortArguments, k: int) -> tf.Tensor:
    """The membership of each candidate in the first k ranks, the mean over samples: [..., q, c], 0 where masked."""
    shares = tf.reduce_mean(tf.reduce_sum(dispatch.permutation(sorting, k), axis=-2), axis=0)
    if sorting.mask is None:
        return shares
    return tf.where(sorting.mask[0], shares, tf.zeros_like(shares))


def _log_share(sorting: SortArguments, k: int, agreement: tf.Tensor) -> tf.Tensor:
    """The logarithm of `sum(membership * agreement) / k` [..., q], finite if the sum underflows; 0 without a match."""
    differs = agreement <= 0
    logs = tf.math.log(tf.where(differs, tf.ones_like(agreement), agreement))[..., tf.newaxis, :]
    rows = dispatch.log_permutation(sorting, k)
    logs += rows
    logs = tf.where(differs[..., tf.newaxis, :], excluded(logs.dtype), logs)
    nothing = tf.reduce_all(differs, axis=-1)
    logs = tf.where(nothing[..., tf.newaxis, tf.newaxis], tf.zeros_like(logs), logs)
    total = tf.reduce_logsumexp(logs, axis=[0, -2, -1])
    count = tf.cast(k * tf.shape(logs)[0], total.dtype)
    # The rows of a query are NaN if a distance is not finite, also without a match.
    without_match = zero_or_nan(tf.reduce_any(tf.math.is_nan(rows), axis=[0, -2, -1]), total.dtype)
    return tf.where(nothing, without_match, total - tf.math.log(count))
