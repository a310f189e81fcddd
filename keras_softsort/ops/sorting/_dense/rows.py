"""The rows of soft permutations, as softmaxes of logits or from a whole matrix, and products with them."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort._internal.arguments import dtype_tiny
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.sorting._ordering import MAX_GAP, Lists, Ranks

# A lower tau counts as this, so that no quotient by it overflows.
LOWEST_TAU = {tf.float32: 1e-30, tf.float64: 1e-290}
# Logarithms of rows are at least minus this.
MAX_LOG_GAP = {tf.float32: 1e33, tf.float64: 1e300}


class SoftmaxRows(NamedTuple):
    """The rows `softmax_j(logits / tau)` at some ranks.

    A row of a valid item spreads over valid items, another row evenly over masked ones.
    """

    lists: Lists
    ranks: Ranks
    logits: tf.Tensor  # [B, r, n], finite or infinite, at a temperature of 1

    def matrix(self, log: bool = False) -> tf.Tensor:
        """The rows, or their logarithms, `excluded` where no weight is: [B, r, n]."""
        if not log:
            return tf.nn.softmax(self._gaps())
        rows = tf.nn.log_softmax(self._gaps(log=True))
        return rows if self.lists.mask is None else tf.where(_with_weight(self), rows, excluded(rows.dtype))

    def multiply(self, values: tf.Tensor) -> tf.Tensor:
        """The product with `values` [B, n, d]: [B, r, d]."""
        return _softmax_product(self._gaps(), values)

    def multiply_transposed(self, values: tf.Tensor) -> tf.Tensor:
        """The product of the transpose with `values` [B, r, d]: [B, n, d]."""
        return _transposed_softmax_product(self._gaps(), values)

    def _gaps(self, log: bool = False) -> tf.Tensor:
        """How far each logit is below the largest of its row, in units of tau: at most 0."""
        logits, dtype = self.logits, self.logits.dtype
        tau = tf.maximum(self.lists.tau, LOWEST_TAU[dtype])[:, :, tf.newaxis]
        tau.set_shape([None, 1, 1])
        if self.lists.mask is not None:
            is_valid = _valid_ranks(self)
            tau = tf.where(is_valid, tau, tf.ones_like(tau))
            logits = tf.where(is_valid, logits, tf.zeros_like(logits))
            logits = tf.where(_with_weight(self), logits, tf.constant(dtype.min, dtype))
        farthest = MAX_LOG_GAP[dtype] * tf.minimum(tau, 1) if log else MAX_GAP[dtype] * tau
        return _gaps_below_peak(logits, tau, farthest)


class MatrixRows(NamedTuple):
    """The rows at some ranks of a differentiable matrix of each list. It has the methods of `SoftmaxRows`."""

    lists: Lists
    ranks: Ranks
    whole: tf.Tensor  # [B, n, n]; entries between a valid and a masked item do not count

    def matrix(self, log: bool = False) -> tf.Tensor:
        rows, tau = self.ranks.of(self.whole), self.lists.tau[:, :, tf.newaxis]
        rows = tf.where(tf.math.is_nan(tau), tau, rows)
        if self.lists.mask is None:
            return _log(rows) if log else rows
        masked = tf.maximum(tf.shape(rows)[2] - self.lists.valid_counts()[:, :, tf.newaxis], 1)
        rows = tf.where(_valid_ranks(self), rows, 1 / tf.cast(masked, rows.dtype))
        nothing = excluded(rows.dtype) if log else tf.zeros([], rows.dtype)
        return tf.where(_with_weight(self), _log(rows) if log else rows, nothing)

    def multiply(self, values: tf.Tensor) -> tf.Tensor:
        return _product(self.matrix(), values)

    def multiply_transposed(self, values: tf.Tensor) -> tf.Tensor:
        return _transposed_product(self.matrix(), values)


@tf.custom_gradient
def _gaps_below_peak(logits: tf.Tensor, tau: tf.Tensor, farthest: tf.Tensor) -> tuple:
    """`(logits - peaks) / tau`, with differences clipped to `[-farthest, 0]`. Below `-farthest` all weights are 0.

    So quotients do not overflow, and tau [B, 1 or r, 1] has a finite gradient. Infinite logits are the peaks of a row.
    """
    peaks = tf.minimum(tf.reduce_max(logits, axis=2, keepdims=True), logits.dtype.max)
    gaps = tf.clip_by_value(logits - peaks, -farthest, 0) / tau

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, None]:
        slopes = upstream / tau
        d_tau = -tf.reduce_sum(slopes * gaps, axis=2, keepdims=True)
        return slopes, d_tau if tau.shape[1] != 1 else tf.reduce_sum(d_tau, axis=1, keepdims=True), None

    return gaps, gradient


@tf.custom_gradient
def _softmax_product(gaps: tf.Tensor, values: tf.Tensor) -> tuple:
    """`softmax(gaps) @ values`, divided after the sums, so that compilers store no quotients of pairs."""
    exponentials = tf.exp(gaps)
    totals = tf.reduce_sum(exponentials, axis=2, keepdims=True)
    result = _product(exponentials, values) / totals

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        shares = upstream / totals
        slopes = _products_with_distances(shares, values, result)
        # The weighted mean is 0 up to the rounding of `result`.
        slopes -= tf.reduce_sum(exponentials * slopes, axis=2, keepdims=True) / totals
        return exponentials * slopes, _transposed_product(exponentials, shares)

    return result, gradient


@tf.custom_gradient
def _transposed_softmax_product(gaps: tf.Tensor, values: tf.Tensor) -> tuple:
    """The transpose of `softmax(gaps)` times `values`."""
    exponentials = tf.exp(gaps)
    totals = tf.reduce_sum(exponentials, axis=2, keepdims=True)
    shares = values / totals

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        means = _product(exponentials, upstream) / totals
        return exponentials * _products_with_distances(shares, upstream, means), means

    return _transposed_product(exponentials, shares), gradient


def _products_with_distances(shares: tf.Tensor, values: tf.Tensor, means: tf.Tensor) -> tf.Tensor:
    """`sum_d shares_id (values_jd - means_id)` of values [B, n, d], shares and means [B, r, d]: [B, r, n].

    Values close to each other and far from 0 keep their digits: differences are exact, products with them round.
    """
    if values.shape[2] == 1:
        return shares * (tf.linalg.matrix_transpose(values) - means)
    # All differences would take d times the memory of the rows, so values are relative to one of them.
    origin = values[:, :1]
    products = tf.matmul(shares, values - origin, transpose_b=True)
    return products - tf.reduce_sum(shares * (means - origin), axis=2, keepdims=True)


def _product(matrix: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """The matrix product. GPUs may round the factors of theirs, so a product with a vector is a sum of products."""
    if values.shape[2] == 1:
        return tf.reduce_sum(matrix * tf.linalg.matrix_transpose(values), axis=2, keepdims=True)
    return tf.matmul(matrix, values)


def _transposed_product(matrix: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """The product of the transpose [B, n, r] of `matrix` with `values` [B, r, d]."""
    if values.shape[2] == 1:
        return tf.reduce_sum(matrix * values, axis=1)[:, :, tf.newaxis]
    return tf.matmul(matrix, values, transpose_a=True)


def _valid_ranks(rows: SoftmaxRows | MatrixRows) -> tf.Tensor:
    """Whether there is a valid item at each rank: [B, r, 1]."""
    return (rows.ranks.numbers < rows.lists.valid_counts())[:, :, tf.newaxis]


def _with_weight(rows: SoftmaxRows | MatrixRows) -> tf.Tensor:
    """Whether the weight of an item at a rank is not 0 because of the mask: [B, r, n]."""
    assert rows.lists.mask is not None
    return tf.equal(rows.lists.mask[:, tf.newaxis, :], _valid_ranks(rows))


def _log(weights: tf.Tensor) -> tf.Tensor:
    return tf.math.log(tf.maximum(weights, tf.constant(dtype_tiny(weights.dtype), weights.dtype)))
