"""The rows of soft permutations, from logits or from a whole matrix, and products with them."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._internal.arguments import dtype_tiny
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.sorting._ordering import MAX_GAP, Lists, Ranks

# A lower tau counts as this, so that no quotient by it overflows.
LOWEST_TAU = {tf.float32: 1e-30, tf.float64: 1e-290}
# Logarithms of rows are at least minus this.
MAX_LOG_GAP = {tf.float32: 1e33, tf.float64: 1e300}


def softmax_rows(lists: Lists, ranks: Ranks, logits: tf.Tensor, log: bool = False) -> tf.Tensor:
    """`softmax_j(logits / tau)`, or its logarithm, for finite or infinite `logits` [B, r, n]: [B, r, n].

    A row of a valid item spreads over valid items, another row evenly over masked ones. Logarithms are `excluded` where
    no weight is.
    """
    tau = tf.maximum(lists.tau, LOWEST_TAU[logits.dtype])[:, :, tf.newaxis]
    tau.set_shape([None, 1, 1])
    if lists.mask is not None:
        is_valid, has_weight = _valid_rows(lists, ranks)
        tau = tf.where(is_valid, tau, tf.ones_like(tau))
        logits = tf.where(is_valid, logits, tf.zeros_like(logits))
        logits = tf.where(has_weight, logits, tf.constant(logits.dtype.min, logits.dtype))
    if not log:
        return _softmax(logits, tau)
    # The gradient of tau is finite, since logarithms are.
    gaps = logits - tf.stop_gradient(tf.reduce_max(logits, axis=2, keepdims=True))
    farthest = tf.stop_gradient(MAX_LOG_GAP[logits.dtype] * tf.minimum(tau, 1))
    rows = tf.nn.log_softmax(tf.maximum(gaps, -farthest) / tau)
    return rows if lists.mask is None else tf.where(has_weight, rows, excluded(rows.dtype))


@tf.custom_gradient
def _softmax(logits: tf.Tensor, tau: tf.Tensor) -> tuple:
    """`softmax_j(logits / tau)` with finite gradients of tau [B, 1 or r, 1] and of infinite `logits` [B, r, n]."""
    # Farther ones have the weight 0, and their quotients could overflow.
    gaps = tf.maximum(logits - tf.reduce_max(logits, axis=2, keepdims=True), -MAX_GAP[logits.dtype] * tau) / tau
    exponentials = tf.exp(gaps)
    weights = exponentials / tf.reduce_sum(exponentials, axis=2, keepdims=True)

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        slopes = weights * (upstream - tf.reduce_sum(weights * upstream, axis=2, keepdims=True)) / tau
        d_tau = -tf.reduce_sum(slopes * gaps, axis=2, keepdims=True)
        return slopes, d_tau if tau.shape[1] != 1 else tf.reduce_sum(d_tau, axis=1, keepdims=True)

    return weights, gradient


def matrix_rows(lists: Lists, ranks: Ranks, matrix: tf.Tensor, log: bool = False) -> tf.Tensor:
    """The rows of a `matrix` [B, n, n] as those of `softmax_rows`.

    Its entries between a valid and a masked item do not count.
    """
    rows, tau = ranks.of(matrix), lists.tau[:, :, tf.newaxis]
    rows = tf.where(tf.math.is_nan(tau), tau, rows)
    if lists.mask is None:
        return _log(rows) if log else rows
    is_valid, has_weight = _valid_rows(lists, ranks)
    masked = tf.maximum(tf.shape(rows)[2] - lists.valid_counts()[:, :, tf.newaxis], 1)
    rows = tf.where(is_valid, rows, 1 / tf.cast(masked, rows.dtype))
    return tf.where(has_weight, _log(rows) if log else rows, excluded(rows.dtype) if log else tf.zeros([], rows.dtype))


def multiply(matrix: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Soft permutations [B, r, n], whose rows sum to 1, times `values` [B, n, d]: [B, r, d].

    Values close to each other and far from 0 keep their digits in the gradient: there they count from one of them, or
    from the product if they are a vector. `tf.vectorized_map` drops this gradient for that of the product, which is
    equal up to rounding.
    """

    @tf.custom_gradient
    def product(matrix: tf.Tensor, values: tf.Tensor) -> tuple:
        result = _product(matrix, values)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            if values.shape[2] == 1:
                d_matrix = upstream * (tf.linalg.matrix_transpose(values) - result)
            else:
                d_matrix = tf.matmul(upstream, values - values[:, :1], transpose_b=True)
            return d_matrix, multiply_transposed(matrix, upstream)

        return result, gradient

    return product(matrix, values)


def multiply_transposed(matrix: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """The transposes of matrices [B, r, n] times `values` [B, r, d]: [B, n, d]."""
    if values.shape[2] == 1:
        return tf.reduce_sum(matrix * values, axis=1)[:, :, tf.newaxis]
    return tf.matmul(matrix, values, transpose_a=True)


def _product(matrix: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """The matrix product. GPUs may round the factors of theirs, so a product with a vector is a sum of products."""
    if values.shape[2] == 1:
        return tf.reduce_sum(matrix * tf.linalg.matrix_transpose(values), axis=2, keepdims=True)
    return tf.matmul(matrix, values)


def _valid_rows(lists: Lists, ranks: Ranks) -> tuple[tf.Tensor, tf.Tensor]:
    """Whether there is a valid item at each rank [B, r, 1], and which weights of its row are not 0 [B, r, n]."""
    assert lists.mask is not None
    is_valid = (ranks.numbers < lists.valid_counts())[:, :, tf.newaxis]
    return is_valid, tf.equal(lists.mask[:, tf.newaxis, :], is_valid)


def _log(weights: tf.Tensor) -> tf.Tensor:
    return tf.math.log(tf.maximum(weights, tf.constant(dtype_tiny(weights.dtype), weights.dtype)))
