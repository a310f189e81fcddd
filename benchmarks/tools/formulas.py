"""The published formulas in plain TensorFlow, which the operators are compared with."""

from __future__ import annotations

import math
from collections.abc import Callable

import tensorflow as tf


def neural_sort(scores: tf.Tensor, tau: float = 1.0, rows: int | None = None) -> tf.Tensor:
    """NeuralSort, or its first `rows`, in the dtype of `scores`.

    The row sums are a reduction, which XLA fuses, and not the n x n x n product of the reference code.
    """
    size = scores.shape[-1]
    sums = tf.reduce_sum(tf.abs(scores[..., tf.newaxis] - scores[..., tf.newaxis, :]), axis=-1)
    slopes = tf.cast(size - 1 - 2 * tf.range(size if rows is None else rows), scores.dtype)
    return tf.nn.softmax((slopes[:, tf.newaxis] * scores[..., tf.newaxis, :] - sums[..., tf.newaxis, :]) / tau)


def soft_sort(scores: tf.Tensor) -> tf.Tensor:
    """SoftSort with tau 1."""
    ordered = tf.sort(scores, direction="DESCENDING")
    return tf.nn.softmax(-tf.abs(ordered[..., tf.newaxis] - scores[..., tf.newaxis, :]))


def soft_values(scores: tf.Tensor, rows: Callable[[tf.Tensor], tf.Tensor] = neural_sort) -> tf.Tensor:
    """The scores softly sorted: the soft permutation times the scores."""
    return tf.linalg.matvec(rows(scores), scores)


def soft_rank(scores: tf.Tensor, rows: Callable[[tf.Tensor], tf.Tensor] = neural_sort) -> tf.Tensor:
    """The soft ranks: the ranks times the soft permutation."""
    matrix = rows(scores)
    ranks = tf.broadcast_to(tf.range(1, scores.shape[-1] + 1, dtype=scores.dtype), scores.shape)
    return tf.linalg.matvec(matrix, ranks, transpose_a=True)


def soft_top_k(scores: tf.Tensor, k: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The first k scores softly sorted, and their rows of NeuralSort."""
    rows = neural_sort(scores, rows=k)
    return tf.linalg.matvec(rows, scores), rows


def sinkhorn(logits: tf.Tensor, tau: float = 1.0, iterations: int = 20) -> tf.Tensor:
    """In the log domain, the whole matrix normalized in turn, as in the published code."""
    logits /= tau
    for _ in range(iterations):
        logits -= tf.reduce_logsumexp(logits, axis=-1, keepdims=True)
        logits -= tf.reduce_logsumexp(logits, axis=-2, keepdims=True)
    return tf.exp(logits)


def sinkhorn_potentials(logits: tf.Tensor, tau: float = 1.0, iterations: int = 20) -> tf.Tensor:
    """Sinkhorn's matrix by potentials, which are updated in place of the matrix: the fairer comparison."""
    logits /= tau
    columns = tf.zeros_like(logits[..., :1, :])
    for _ in range(iterations):
        rows = -tf.reduce_logsumexp(logits + columns, axis=-1, keepdims=True)
        columns = -tf.reduce_logsumexp(logits + rows, axis=-2, keepdims=True)
    return tf.exp(logits + rows + columns)


def pair_costs(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """RankNet's costs of all pairs of all lists, their sum, by a tensor of all pairs."""
    pairs = tf.cast(labels[:, :, tf.newaxis] > labels[:, tf.newaxis, :], scores.dtype)
    return tf.reduce_sum(pairs * tf.math.softplus(scores[:, tf.newaxis, :] - scores[:, :, tf.newaxis]))


def pair_means(scores: tf.Tensor, labels: tf.Tensor, cost: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    """The mean cost of the lead in score over the pairs in which one item has the larger label: [batch]."""
    pairs = tf.cast(labels[:, :, tf.newaxis] > labels[:, tf.newaxis, :], scores.dtype)
    leads = scores[:, :, tf.newaxis] - scores[:, tf.newaxis, :]
    return tf.math.divide_no_nan(tf.reduce_sum(pairs * cost(leads), axis=[1, 2]), tf.reduce_sum(pairs, axis=[1, 2]))


def ranknet(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """RankNet: [batch]."""
    return pair_means(scores, labels, lambda leads: tf.math.softplus(-leads))


def pairwise_hinge(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The hinge loss of pairs: [batch]."""
    return pair_means(scores, labels, lambda leads: tf.nn.relu(1 - leads))


def pairwise_soft_zero_one(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The soft zero-one loss of pairs: [batch]."""
    return pair_means(scores, labels, lambda leads: tf.sigmoid(-leads))


def pairwise_mse(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The squared error of the differences of all pairs: [batch]."""
    errors = scores - labels
    squares = tf.square(errors[:, :, tf.newaxis] - errors[:, tf.newaxis, :])
    return tf.reduce_sum(squares, axis=[1, 2]) / (scores.shape[-1] * (scores.shape[-1] - 1))


def ranknet_ndcg(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """RankNet with the change of NDCG as the weight of a pair, as LambdaRank has it: [batch]."""
    pairs = tf.cast(labels[:, :, tf.newaxis] > labels[:, tf.newaxis, :], scores.dtype)
    ranks = tf.argsort(tf.argsort(scores, direction="DESCENDING", stable=True)) + 1
    discounts = 1 / _log2(1 + tf.cast(ranks, scores.dtype))
    gains = tf.math.divide_no_nan(tf.pow(2.0, labels) - 1, _ideal_dcg(labels)[:, tf.newaxis])
    changes = [tf.abs(each[:, :, tf.newaxis] - each[:, tf.newaxis, :]) for each in (gains, discounts)]
    weights = tf.stop_gradient(pairs * changes[0] * changes[1])
    leads = scores[:, tf.newaxis, :] - scores[:, :, tf.newaxis]
    return tf.reduce_sum(weights * tf.math.softplus(leads), axis=[1, 2])


def list_mle(scores: tf.Tensor, labels: tf.Tensor, ties: str = "first") -> tf.Tensor:
    """ListMLE: [batch]. It overflows to NaN where scores span more than float32 can hold.

    Items with equal labels are ranked in the order of the list, or with `ties` "breslow" chosen from the same items.
    """
    order = tf.argsort(labels, direction="DESCENDING", stable=True)
    chosen = tf.gather(scores, order, batch_dims=1)
    chosen -= tf.reduce_max(chosen, axis=-1, keepdims=True)
    sums = tf.cumsum(tf.exp(chosen), axis=-1, reverse=True)
    if ties == "breslow":
        keys = -tf.gather(labels, order, batch_dims=1)
        sums = tf.gather(sums, tf.searchsorted(keys, keys), batch_dims=1)
    return tf.reduce_sum(tf.math.log(sums) - chosen, axis=-1)


def list_mle_by_pairs(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """ListMLE with `ties` "breslow", by comparing all labels."""
    scores -= tf.reduce_max(scores, axis=-1, keepdims=True)
    left = tf.cast(labels[:, tf.newaxis, :] <= labels[:, :, tf.newaxis], scores.dtype)
    return tf.reduce_sum(tf.math.log(tf.linalg.matvec(left, tf.exp(scores))) - scores, axis=-1)


def softmax(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The softmax cross-entropy of each list: [batch]."""
    return -tf.reduce_sum(labels * tf.nn.log_softmax(scores), axis=-1)


def list_net(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """ListNet: [batch]."""
    return softmax(scores, tf.nn.softmax(labels))


def unique_softmax(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The softmax cross-entropy of each item against the less relevant ones: [batch]."""
    scores -= tf.reduce_max(scores, axis=-1, keepdims=True)
    less = tf.cast(labels[:, tf.newaxis, :] < labels[:, :, tf.newaxis], scores.dtype)
    sums = tf.exp(scores) + tf.linalg.matvec(less, tf.exp(scores))
    return tf.reduce_sum((tf.pow(2.0, labels) - 1) * (tf.math.log(sums) - scores), axis=-1)


def mean_squared(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The mean squared error of each list: [batch]."""
    return tf.reduce_mean(tf.math.squared_difference(scores, labels), axis=-1)


def sigmoid_cross_entropy(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The mean binary cross-entropy of each list: [batch]."""
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, scores), axis=-1)


def approx_ndcg(scores: tf.Tensor, labels: tf.Tensor, tau: float = 0.1) -> tf.Tensor:
    """ApproxNDCG: [batch]."""
    scores /= tau
    ranks = 0.5 + tf.reduce_sum(tf.sigmoid(scores[:, tf.newaxis, :] - scores[:, :, tf.newaxis]), axis=-1)
    total = tf.reduce_sum((tf.pow(2.0, labels) - 1) / _log2(1 + ranks), axis=-1)
    return -tf.math.divide_no_nan(total, _ideal_dcg(labels))


def neural_ndcg(scores: tf.Tensor, labels: tf.Tensor, iterations: int = 50) -> tf.Tensor:
    """NeuralNDCG: [batch]. Iterations end when all columns sum to 1, as in the paper's reference."""

    def normalize(_: tf.Tensor, matrix: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        matrix /= tf.reduce_sum(matrix, axis=1, keepdims=True)
        matrix /= tf.reduce_sum(matrix, axis=2, keepdims=True)
        return tf.reduce_max(tf.abs(tf.reduce_sum(matrix, axis=1) - 1)), matrix

    error = tf.constant(math.inf)
    _, matrix = tf.while_loop(
        lambda error, _: error > 1e-6, normalize, (error, neural_sort(scores)), maximum_iterations=iterations
    )
    discounts = 1 / _log2(1 + tf.range(1, scores.shape[-1] + 1, dtype=scores.dtype))
    total = tf.linalg.matvec(tf.linalg.matvec(matrix, tf.pow(2.0, labels) - 1), discounts)
    return -tf.math.divide_no_nan(total, _ideal_dcg(labels))


def dcg(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """DCG: [batch]."""
    ordered = tf.gather(labels, tf.argsort(scores, direction="DESCENDING", stable=True), batch_dims=1)
    return _dcg(ordered)


def ndcg(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """NDCG: [batch]."""
    return tf.math.divide_no_nan(dcg(scores, labels), _ideal_dcg(labels))


def mrr(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The reciprocal rank of the first item with a label of at least 1: [batch]."""
    ordered = tf.gather(labels, tf.argsort(scores, direction="DESCENDING", stable=True), batch_dims=1)
    ranks = tf.range(1, scores.shape[-1] + 1, dtype=scores.dtype)
    return tf.reduce_max(tf.cast(ordered >= 1, scores.dtype) / ranks, axis=-1)


def nearest_neighbors(queries: tf.Tensor, references: tf.Tensor, k: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The k nearest references of each query, and their squared distances."""
    products = tf.matmul(queries, references, transpose_b=True)
    squares = tf.reduce_sum(tf.square(queries), axis=-1, keepdims=True) + tf.reduce_sum(tf.square(references), axis=-1)
    distances, neighbors = tf.math.top_k(2 * products - squares, k)
    return neighbors, -distances


def gumbel_softmax(logits: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """A Gumbel-Softmax sample at temperature 1."""
    # XLA's own generator takes several times as long.
    uniform = tf.random.stateless_uniform(tf.shape(logits), seed, minval=1e-10, maxval=1.0, alg="philox")
    return tf.nn.softmax(logits - tf.math.log(-tf.math.log(uniform)))


def _ideal_dcg(labels: tf.Tensor) -> tf.Tensor:
    return _dcg(tf.sort(labels, direction="DESCENDING"))


def _dcg(labels: tf.Tensor) -> tf.Tensor:
    discounts = 1 / _log2(1 + tf.range(1, labels.shape[-1] + 1, dtype=labels.dtype))
    return tf.linalg.matvec(tf.pow(2.0, labels) - 1, discounts)


def _log2(values: tf.Tensor) -> tf.Tensor:
    return tf.math.log(values) / math.log(2)
