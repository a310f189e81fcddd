"""The loss of soft k nearest neighbors (DkNN)."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.neighbors._embeddings import agreement, class_rows, number_of
from keras_softsort.ops.neighbors._soft import (
    SoftNeighborOptions,
    checked_search,
    log_share,
    membership,
    soft_neighbor_options,
    sorted_candidates,
)

OBJECTIVES = ("linear", "log")


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

    The loss is `-s_i` or `-log s_i`, with the share `s_i = sum_j m_ij [y_i = y_j] / k` and the memberships m of
    `soft_neighbor_membership`. A query is never its own candidate. `DkNNLoss` is the mean over queries.

    Args:
      embeddings: `[batch, d]`.
      labels: classes `[batch]` or `[batch, 1]`, or rows `[batch, classes]`, one-hot or shares of classes, whose inner
        product replaces `[y_i = y_j]`.
      k: number of neighbors, below the number of candidates.
      tau: temperature of `method`, positive, a scalar or one per query. Its unit is that of the logits: for NeuralSort
        distances times the number of candidates, for SoftSort distances.
      num_queries: the first `num_queries` items are the queries, and the others the candidates. None: every item is a
        query and the rest of the batch its candidates.
      mask: bool `[batch]`, True for valid items. The others are not candidates, and their own loss is 0.
      objective: `"linear"`: minus the share, in [-1, 0]. `"log"`: minus the logarithm of the share, computed from
        logarithms, so that a share that underflows has a gradient.
      distance: distance of embeddings, see `soft_neighbor_membership`.
      method: `"neural_sort"` or `"soft_sort"`.
      power: exponent of SoftSort's distance of scores.
      scale: `"std"` divides the distances of each query by their standard deviation: tau then means
        the same for distances of any scale. Masked candidates do not count. None does not divide.
      num_samples: number of noisy samples to average, see `soft_neighbor_membership`; None: no noise.
      seed: two integers, given with `num_samples`.

    Returns:
      `[q]`, one loss per query, in the dtype of `embeddings`; half precision is computed in float32. A query without
      a candidate of its class has 0 with both objectives, and a zero gradient. Ranks that padding leaves empty count as
      wrong. An embedding that is not finite gives NaN to its own loss and to those of its queries, and so does a NaN
      label.

    Raises:
      ValueError: `k`, `num_queries` or `num_samples` is below 1; `tau` is not positive; `objective`, `distance`,
        `method` or `scale` is unknown; shapes do not match; or the batch has no more than `num_queries + k` items (`1 +
        k` if `num_queries` is None).
      TypeError: embeddings are not floating-point, labels are not numbers, a mask is not bool, or an argument has
        another type.
      InvalidArgumentError: the batch is too small, and its size was unknown when traced. XLA drops that check, and the
        losses are then NaN.

    Cost: O(q c (d + k + log c)) time and O(k q c) memory per sample, for q queries and c candidates.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> embeddings, labels = tf.constant([[0.0], [0.1], [1.0], [1.2]]), [0, 0, 1, 1]
    >>> ks.ops.dknn_loss(embeddings, labels, k=1, tau=0.01).numpy().round(3).tolist()
    [-1.0, -1.0, -1.0, -1.0]

    Source: A. Grover, E. Wang, A. Zweig, S. Ermon, "Stochastic Optimization of Sorting Networks via Continuous
    Relaxations", ICLR 2019, section 6.3.
    """
    embeddings = arguments.floating_tensor("embeddings", embeddings)
    if embeddings.shape.rank != 2:
        raise ValueError(f"embeddings must have shape [batch, d], got {embeddings.shape}")
    num_queries = arguments.optional_positive_integer("num_queries", num_queries)
    search = checked_search(k=k, distance=distance, method=method, power=power, scale=scale)
    options = soft_neighbor_options(embeddings[:num_queries], tau, num_samples, seed, search)
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
    sorting = sorted_candidates(vectors[first], vectors[others], pairs, options)
    if objective == "log":
        losses = -log_share(sorting, options.k, correct)
    else:
        losses = -tf.reduce_sum(membership(sorting, options.k) * correct, axis=-1) / options.k
    return tf.cast(tf.where(is_valid[first], losses, tf.zeros_like(losses)), embeddings.dtype)


def _more_than(embeddings: tf.Tensor, num_queries: int | None, k: int) -> tf.Tensor:
    """`embeddings`, checked to hold more than k candidates for each query."""
    least, size = (num_queries or 1) + k, number_of(embeddings)
    what = f"{'1' if num_queries is None else 'num_queries'} + k = {least}"
    return arguments.checked(embeddings, size > least, f"embeddings must hold more than {what} items, got", size)
