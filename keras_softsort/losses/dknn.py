"""Differentiable k nearest neighbours as a loss of embeddings."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort._targets.reduction import WeightedLosses
from keras_softsort.losses._base import WeightedLoss
from keras_softsort.losses._noise import fresh_seed
from keras_softsort.ops._core import validation
from keras_softsort.ops._core.dtypes import compute_dtype
from keras_softsort.ops.neighbors._distances import DISTANCES, pairwise_distances
from keras_softsort.ops.neighbors._soft import log_share, membership, neighbor_arguments
from keras_softsort.ops.sorting._arguments import SortArguments
from keras_softsort.ops.sorting._methods import registry

OBJECTIVES = ("linear", "log")


@register
class DkNNLoss(WeightedLoss):
    """How much of the k soft nearest neighbours of each embedding is of its class.

    Each query i is compared with its candidates j, itself never among them. With P the soft permutation that sorts
    them by distance, the nearest first, and m_ij the sum of its first k rows, the share of right neighbours is
    `s_i = sum_j m_ij [y_i = y_j] / k`. The loss is the mean over queries of `-s_i` or `-log s_i`.

    Args:
      k: how many neighbours, fewer than there are candidates.
      tau: temperature of `method`, a positive number in units of its logits: for NeuralSort distances times the number
        of candidates (a step from one neighbour to the next counts twice its place), for SoftSort distances.
      num_queries: the first `num_queries` of the batch are the queries, and the others the candidates. With `None`
        every item is a query against the rest of the batch.
      objective: `"linear"`, minus the expected share, in [-1, 0]; or `"log"`, minus its logarithm, computed from
        logarithms, so that queries whose share underflows learn too.
      distance: `"squared_euclidean"`, `"euclidean"` (with gradient 0 at distance 0), `"cosine"` (1 - cos; 1 for a
        vector of zeros), or `"dot"` (minus the inner product).
      method: `"neural_sort"` or `"soft_sort"` (with power 1).
      stochastic: take the expected share under the Plackett-Luce distribution whose log-scores are minus the distances,
        by relaxed samples: distances less Gumbel noise are sorted with the same `tau`, and s_i is the mean over them.
      num_samples: of `stochastic`. Each query has its own.
      seed: of `stochastic`, an integer or `None`. Each call draws anew from TensorFlow's generator of random numbers;
        with a seed and `tf.random.set_seed` runs repeat, except under XLA, whose generator takes no seed.
      reduction: `"sum_over_batch_size"` (mean over queries), `"sum"`, or `None` or `"none"`: each query's.
      name: of the loss.

    Call arguments: `y_true`, classes `[batch]` or `[batch, 1]`, or one-hot `[batch, classes]`, of which the inner
    product takes the place of `[y_i = y_j]`, so that rows may be shares of classes too; `y_pred` `[batch, d]`,
    embeddings; `sample_weight` `[batch]` or `[batch, 1]`, which multiplies the queries' losses. Items with a label
    below 0 are padding: neither queries nor candidates, and not counted in the mean. A query without any right
    candidate costs 0 and has zero gradient. Equally far candidates share places evenly. Where padding leaves fewer
    than k candidates, the places beyond are nobody's. Computed in float32 for half precision. An embedding that is not
    finite makes NaN of its own loss, and of that of every query that it is a candidate of; so does a NaN label.

    `model.fit` drops no rest of its own: give it `dataset.batch(n, drop_remainder=True)`, for a last batch that is too
    small is an error. The reference code's loss is the sum over the k neighbours, k times this one: its learning rate
    corresponds to one k times as large here.

    Raises:
      ValueError: `k`, `num_queries` or `num_samples` < 1, `tau` <= 0, unknown `objective`, `distance`, `method` or
        `reduction`, shapes that do not match, a batch of no more than `num_queries + k` items (`1 + k` without).
      TypeError: an argument of another type, labels that are not numbers, embeddings that are not floating-point.
      InvalidArgumentError: such a batch, of a size that was not known when the function was traced. Under XLA, which
        checks nothing, the loss is NaN.

    Cost: with q queries and c candidates O(q c (d + k + log c)) time and O(k q c) memory, a sample each: the rest of
    the permutation is not computed.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, embeddings = tf.constant([0, 0, 1, 1]), tf.constant([[0.0], [0.1], [1.0], [1.2]])
    >>> round(float(ks.DkNNLoss(k=1, tau=0.01)(labels, embeddings)), 4)  # every nearest neighbour is right
    -1.0
    >>> round(float(ks.DkNNLoss(k=1, tau=10.0)(labels, embeddings)), 4)  # near chance, 1 / 3
    -0.365

    Source: A. Grover, E. Wang, A. Zweig, S. Ermon, "Stochastic Optimization of Sorting Networks via Continuous
    Relaxations", ICLR 2019, section 6.3.
    """

    def __init__(
        self,
        k: int,
        tau: float = 1.0,
        *,
        num_queries: int | None = None,
        objective: str = "linear",
        distance: str = "squared_euclidean",
        method: str = "neural_sort",
        stochastic: bool = False,
        num_samples: int = 5,
        seed: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "dknn",
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction=reduction, name=name, dtype=dtype)
        self.k = arguments.positive_integer("k", k)
        self.tau = arguments.positive_number("tau", tau)
        self.num_queries = None if num_queries is None else arguments.positive_integer("num_queries", num_queries)
        self.objective = arguments.one_of("objective", objective, OBJECTIVES)
        self.distance = arguments.one_of("distance", distance, DISTANCES)
        self.method = registry.checked_method(method)
        self.stochastic = arguments.boolean("stochastic", stochastic)
        self.num_samples = arguments.positive_integer("num_samples", num_samples)
        self.seed = None if seed is None else arguments.integer("seed", seed)

    def weighted_losses(self, y_true: Any, y_pred: Any, sample_weight: Any) -> WeightedLosses:
        """The loss of each query [q], 0 for padding, and how many queries there are."""
        embeddings = validation.floating_tensor("y_pred", y_pred)
        if embeddings.shape.rank != 2:
            raise ValueError(f"y_pred must be embeddings [batch, d], got shape {embeddings.shape}")
        embeddings = self._large_enough(tf.cast(embeddings, compute_dtype(self.given_dtype or embeddings.dtype)))
        classes = _class_rows(y_true, embeddings)
        kept = tf.reduce_all(_not_negative(classes), axis=-1)
        embeddings = tf.where(kept[:, tf.newaxis], embeddings, tf.zeros_like(embeddings))
        weights = _query_weights(sample_weight, embeddings)

        count = self.num_queries
        start = 0 if count is None else count
        mask = tf.broadcast_to(kept[tf.newaxis, start:], [tf.shape(kept[:count])[0], tf.shape(kept[start:])[0]])
        if count is None:
            mask = tf.linalg.set_diag(mask, tf.zeros_like(kept))
        right = _agreement(classes[:count], classes[start:], embeddings.dtype)
        right = tf.where(mask, right, tf.zeros_like(right))
        distances = pairwise_distances(embeddings[:count], embeddings[start:], self.distance)
        samples = {"num_samples": self.num_samples, "seed": fresh_seed(self.seed)} if self.stochastic else {}
        problem = neighbor_arguments(distances, mask, self.tau, self.method, **samples)
        losses = self._query_losses(problem, right)
        weights = tf.where(kept[:count], weights[:count], tf.zeros_like(losses))
        losses = tf.where(kept[:count], losses, tf.zeros_like(losses)) * weights
        return WeightedLosses(losses, tf.math.count_nonzero(kept[:count]), weights)

    def _query_losses(self, problem: SortArguments, right: tf.Tensor) -> tf.Tensor:
        if self.objective == "log":
            return -log_share(problem, self.k, right)
        return -tf.reduce_sum(membership(problem, self.k) * right, axis=-1) / self.k

    def _large_enough(self, embeddings: tf.Tensor) -> tf.Tensor:
        """`embeddings`, checked to hold more than k candidates: when traced if their number is known, else when run."""
        least, known = (self.num_queries or 1) + self.k, embeddings.shape[0]
        what = f"{'1' if self.num_queries is None else 'num_queries'} + k = {least}"
        size = tf.shape(embeddings)[0] if known is None else known
        return validation.checked(embeddings, size > least, f"y_pred must hold more than {what} embeddings, got", size)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = ("k", "tau", "num_queries", "objective", "distance", "method", "stochastic", "num_samples", "seed")
        return {**super().get_config(), **{name: getattr(self, name) for name in own}}


def _class_rows(y_true: Any, embeddings: tf.Tensor) -> tf.Tensor:
    """Labels as [batch, 1] of any number type, or as [batch, classes] in the dtype of the embeddings."""
    labels = validation.dense_tensor("y_true", y_true)
    if not (labels.dtype.is_integer or labels.dtype.is_floating):
        raise TypeError(f"y_true must hold numbers, got dtype {labels.dtype.name}")
    if labels.shape.rank == 1:
        labels = labels[:, tf.newaxis]
    right = labels.shape.rank == 2 and labels.shape[1] not in (None, 0)
    if not (right and labels.shape[:1].is_compatible_with(embeddings.shape[:1])):
        raise ValueError(
            "y_true must have shape [batch], [batch, 1] or [batch, classes] (a known number), with batch "
            f"{embeddings.shape[0]} as in y_pred, got {tf.convert_to_tensor(y_true).shape}"
        )
    expected = tf.stack([tf.shape(embeddings)[0], labels.shape[1]])
    labels = validation.of_shape("y_true", labels, expected)
    return labels if labels.shape[1] == 1 else tf.cast(labels, embeddings.dtype)


def _not_negative(classes: tf.Tensor) -> tf.Tensor:
    """Not logical_not(classes < 0): TensorFlow's graph optimizer makes classes >= 0 of that, which is False for NaN."""
    if classes.dtype.is_integer:
        return classes >= 0
    return tf.logical_or(classes >= 0, tf.math.is_nan(classes))


def _agreement(queries: tf.Tensor, candidates: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """[q, c]: 1 for equal classes, or the inner product of rows of classes; NaN for a NaN label."""
    if queries.shape[1] > 1:
        return tf.matmul(queries, candidates, transpose_b=True)
    candidates = tf.transpose(candidates)
    equal = tf.cast(tf.equal(queries, candidates), dtype)
    if queries.dtype.is_integer:
        return equal
    return tf.where(tf.math.is_nan(queries + candidates), tf.constant(math.nan, dtype), equal)


def _query_weights(sample_weight: Any, embeddings: tf.Tensor) -> tf.Tensor:
    """One weight an item: [batch]."""
    batch = tf.shape(embeddings)[:1]
    if sample_weight is None:
        return tf.ones(batch, embeddings.dtype)
    weights = tf.cast(validation.real_tensor("sample_weight", sample_weight), embeddings.dtype)
    shape = weights.shape
    if shape.rank == 2 and shape[1] == 1:
        weights = weights[:, 0]
    if weights.shape.rank not in {0, 1} or (
        weights.shape.rank == 1 and not weights.shape.is_compatible_with(embeddings.shape[:1])
    ):
        raise ValueError(f"sample_weight must have shape [batch] or [batch, 1], got {shape}")
    if weights.shape.rank == 0:
        return tf.broadcast_to(weights, batch)
    return validation.of_shape("sample_weight", weights, batch)
