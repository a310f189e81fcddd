"""Retrieval metrics of embeddings, by soft ranks of their similarities, as losses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.advice import warn_once
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort.ops.core.deviations import checked_scale, deviations
from keras_softsort.ops.core.distances import DISTANCES, pairwise_distances
from keras_softsort.ops.core.numbers import nan_where
from keras_softsort.ops.core.tracing import are_small_and_eager, traced_if_eager
from keras_softsort.ops.neighbors._retrieval_metrics import AT_K, RETRIEVAL_METRICS, JudgedCandidates
from keras_softsort.ops.neighbors.embeddings import agreement, class_rows, number_of_rows
from keras_softsort.ops.sorting.soft_top_k import soft_top_k_membership

FEW_QUERIES = 8  # of one class by chance, as in the last batch of an epoch


@export
def retrieval_loss(
    queries: Any,
    candidates: Any = None,
    *,
    labels: Any = None,
    candidate_labels: Any = None,
    metric: str = "average_precision",
    k: int | None = None,
    divisor: str = "relevant",
    tau: Any = 0.05,
    distance: str = "cosine",
    scale: str | None = None,
    mask: Any = None,
    candidate_mask: Any = None,
    exclude_self: bool | None = None,
) -> tf.Tensor:
    """Compute minus a retrieval metric of each query from soft ranks of its candidates (Smooth-AP and others).

    See `RetrievalLoss` for its use. With the similarity `s_j = -distance(query, j)`, the soft rank of a candidate i is
    `r_i = 1 + sum_{j != i} sigmoid((s_j - s_i) / tau)`, and r+_i is the same sum over the relevant candidates j. With P
    the relevant candidates of a query and m_i the share of the first k ranks that i holds (`soft_top_k_membership` of
    the similarities; 1 without `k`), the metrics are:

    - `"average_precision"`: `sum_{i in P} m_i r+_i / r_i / |P|`, or divided by `min(k, |P|)`, as `divisor` says;
    - `"ndcg"`: `sum_{i in P} m_i / log2(1 + r_i)`, divided by the same sum for the best order, with exact ranks;
    - `"mrr"`: `m_i / r_i` of the most similar relevant candidate i, where r_i counts the irrelevant ones above it;
    - `"precision"`: `sum_{i in P} m_i / min(k, valid candidates)`; `"recall"`: `sum_{i in P} m_i / |P|`.

    As tau goes to 0 these become `mean_average_precision`, `ndcg`, `mrr`, `precision` and `recall` of the similarities.
    Each of two tied candidates counts half towards the rank of the other. `RetrievalLoss` is the mean over queries.

    Args:
      queries: embeddings `[q, d]`.
      candidates: embeddings `[c, d]`. None: the queries are the candidates of each other.
      labels: classes of the queries, `[q]` or `[q, 1]`, or rows `[q, classes]` of numbers of at least 0. A candidate is
        relevant if its class is the same, or if the inner product of the rows is above 0.
      candidate_labels: classes of the candidates, given if and only if `candidates` and `labels` are. Without any
        labels, candidate i is the relevant one of query i.
      metric: one of those above.
      k: number of ranks that count, at most the number of candidates; None for all. Precision and recall need it.
      divisor: of average precision, as in `mean_average_precision`; `"relevant"` for the other metrics.
      tau: temperature in units of the distance, positive: a number, or a tensor that broadcasts against `[q]`.
      distance: `"cosine"`, `"dot"`, `"squared_euclidean"`, `"euclidean"` or `"cityblock"`, see `nearest_neighbors`.
      scale: `"std"` divides the distances of each query by their standard deviation, so that one tau fits all scales.
      mask, candidate_mask: bool `[q]` and `[c]`, True for valid queries and candidates. Masked queries get 0, and
        without `candidates` are no candidates.
      exclude_self: whether candidate i is left out for query i. None: True without `candidates`, False with them.

    Returns:
      `[q]`, from -1 to 0, in the dtype of `queries`. A query without a relevant candidate has 0 and a zero gradient.
      Valid embeddings that are not finite give NaN to their own queries and to those that have them as candidates, and
      so do NaN labels. Half precision is computed in float32.

    Raises:
      ValueError: a name is unknown, `divisor` does not fit `metric`, `k` is out of range or missing, `tau` is not
        positive, labels are missing, or shapes do not match (an InvalidArgumentError if sizes were unknown when traced;
        XLA drops that check).
      TypeError: embeddings are not floating-point, labels are not numbers, or another type is wrong.

    Cost: O(p q c) time for `"average_precision"` and `"ndcg"`, with p the most relevant candidates of a query, and
    O(q c) for the others; O(q c log c) more with `k`. O(q c) memory.

    Example:
      >>> ks.ops.retrieval_loss([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], labels=[0, 0, 1]).numpy().round(3).tolist()
      [-1.0, -1.0, -0.0]

    Source: A. Brown et al., "Smooth-AP: Smoothing the Path Towards Large-Scale Image Retrieval", ECCV 2020.
    """
    queries = _embeddings("queries", queries)
    is_own = candidates is None
    candidates = queries if is_own else _embeddings("candidates", candidates)
    if not (queries.shape[1:].is_compatible_with(candidates.shape[1:]) and queries.dtype == candidates.dtype):
        raise ValueError(
            f"queries and candidates must have shapes [q, d] and [c, d] and one dtype, got {queries.shape} "
            f"{queries.dtype.name} and {candidates.shape} {candidates.dtype.name}"
        )
    options = checked_metric(metric=metric, k=k, divisor=divisor, distance=distance, scale=scale)
    if k is not None:
        size = number_of_rows(candidates)
        message = f"k must be at most the number of candidates, got {k} for"
        candidates = arguments.checked(candidates, size >= k, message, size)
    if labels is None and candidate_labels is None and not is_own:
        sizes = number_of_rows(queries), number_of_rows(candidates)
        message = "without labels candidates must be as many as queries, got"
        candidates = arguments.checked(candidates, tf.equal(*sizes), message, *sizes)
    labels, candidate_labels = _labels(labels, candidate_labels, queries, candidates, is_own)
    mask = _mask("mask", mask, queries)
    is_same_mask = is_own and candidate_mask is None
    candidate_mask = mask if is_same_mask else _mask("candidate_mask", candidate_mask, candidates)
    _advise_of_one_class(labels, candidate_labels, mask, candidate_mask)
    tau = arguments.temperature(tau, compute_dtype(queries.dtype), queries)
    exclude_self = is_own if exclude_self is None else arguments.boolean("exclude_self", exclude_self)
    sides = Embeddings(queries, mask, labels), Embeddings(candidates, candidate_mask, candidate_labels)
    return _losses(*sides, tau, exclude_self, options)


def checked_metric(*, metric: Any, k: Any, divisor: Any, distance: Any, scale: Any) -> dict[str, Any]:
    """Check the options of a metric, of the operator and of the loss."""
    if arguments.one_of("metric", metric, RETRIEVAL_METRICS) in AT_K and k is None:
        raise ValueError(f"k must be given with metric={metric!r}, got None")
    if arguments.one_of("divisor", divisor, arguments.DIVISORS) != "relevant" and metric != "average_precision":
        raise ValueError(f"divisor must be 'relevant' with metric={metric!r}, got {divisor!r}")
    return {
        "metric": metric,
        "k": arguments.optional_positive_integer("k", k),
        "divisor": divisor,
        "distance": arguments.one_of("distance", distance, DISTANCES),
        "scale": checked_scale(scale),
    }


class Embeddings(NamedTuple):
    """The queries, or the candidates."""

    vectors: tf.Tensor  # [batch, d]
    mask: tf.Tensor  # [batch] bool
    labels: tf.Tensor | None  # [batch], or rows of classes; None to match rows


@traced_if_eager
def _losses(
    queries: Embeddings, candidates: Embeddings, tau: tf.Tensor, exclude_self: bool, options: dict[str, Any]
) -> tf.Tensor:
    """The loss of each query [q]."""
    k, dtype = options["k"], compute_dtype(queries.vectors.dtype)
    of_queries, of_candidates = (
        tf.where(each.mask[:, tf.newaxis], tf.cast(each.vectors, dtype), tf.zeros([], dtype))
        for each in (queries, candidates)
    )
    similarities = -pairwise_distances(of_queries, of_candidates, options["distance"], candidates.mask)
    is_candidate = tf.logical_and(queries.mask[:, tf.newaxis], candidates.mask)
    if exclude_self:
        diagonal = tf.linalg.diag_part(is_candidate)
        is_candidate = tf.linalg.set_diag(is_candidate, tf.zeros_like(diagonal))
    if queries.labels is None or candidates.labels is None:
        agrees = tf.linalg.diag(tf.ones_like(queries.mask, dtype))
    else:
        agrees = agreement(queries.labels, candidates.labels, dtype)
    is_relevant = tf.logical_and(is_candidate, agrees > 0)
    tau = tf.broadcast_to(tau, tf.shape(queries.mask))
    if options["scale"] is not None:
        tau *= deviations(similarities, is_candidate).total()[:, 0]
    members = tf.ones_like(similarities)
    if k is not None:
        members = soft_top_k_membership(similarities, k, tau, mask=is_candidate)
    judged = JudgedCandidates(similarities, tau[:, tf.newaxis], members, is_candidate, is_relevant)
    is_number = tf.logical_and(tf.math.is_finite(similarities), tf.math.is_finite(agrees))
    failed = tf.reduce_any(tf.logical_and(is_candidate, tf.logical_not(is_number)), axis=1)
    values = RETRIEVAL_METRICS[options["metric"]](judged, k, options["divisor"])
    return tf.cast(-nan_where(failed, values), queries.vectors.dtype)


def _embeddings(name: str, values: Any) -> tf.Tensor:
    tensor = arguments.floating_tensor(name, values)
    if tensor.shape.rank != 2:
        raise ValueError(f"{name} must be embeddings [batch, d], got shape {tensor.shape}")
    return tensor


def _labels(labels: Any, others: Any, queries: tf.Tensor, candidates: tf.Tensor, is_own: bool) -> tuple[Any, Any]:
    """The labels of queries and candidates in one dtype; None and None to match rows."""
    if is_own and (labels is None or others is not None):
        raise ValueError("labels, and no candidate_labels, must be given without candidates")
    if (labels is None) != (others is None) and not is_own:
        raise ValueError("labels and candidate_labels must be given together")
    if labels is None:
        return None, None
    labels = class_rows("labels", labels, queries)
    if is_own:
        return labels, labels
    others = class_rows("candidate_labels", others, candidates)
    if labels.shape.rank != others.shape.rank or not labels.shape[1:].is_compatible_with(others.shape[1:]):
        raise ValueError(
            "labels and candidate_labels must both be classes, or rows of equally many classes, got shapes "
            f"{labels.shape} and {others.shape}"
        )
    if labels.shape.rank == 2:
        return labels, tf.cast(others, labels.dtype)
    # Not the dtype of one of them, which may not hold the classes of the other.
    both = tf.int64 if labels.dtype.is_integer and others.dtype.is_integer else tf.float64
    return tf.cast(labels, both), tf.cast(others, both)


def _advise_of_one_class(labels: Any, others: Any, mask: tf.Tensor, other_mask: tf.Tensor) -> None:
    """Warn if eager labels make all candidates relevant to more than a handful of queries."""
    if labels is None or labels.shape.rank != 1 or not are_small_and_eager(labels, others, mask, other_mask):
        return
    own, classes = labels.numpy()[mask.numpy()], others.numpy()[other_mask.numpy()]
    if len(own) > FEW_QUERIES and len(classes) and np.all(own == own[0]) and np.all(classes == own[0]):
        warn_once(
            "one class in retrieval_loss",
            f"all {len(own)} queries and all candidates have the label {own[0]}, so that every candidate is relevant "
            "to every query and there is nothing to learn. Labels must tell which items belong together: for clicks "
            "pass the id of the clicked item, or np.arange(batch) to match by row; shuffle data sorted by class",
        )


def _mask(name: str, mask: Any, vectors: tf.Tensor) -> tf.Tensor:
    valid = arguments.axis_mask(name, mask, vectors, -2)
    return tf.ones_like(vectors[:, 0], tf.bool) if valid is None else valid
