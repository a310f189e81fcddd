"""Sums over the rows or columns of a matrix, and matrices of lines, each in the fewest passes over the matrix."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.running_sums import products_keep_digits
from keras_softsort.ops._core.thresholds import is_at_most
from keras_softsort.ops._core.tracing import is_compiled

# Up to this many items TensorFlow's softmax and matrix products take longer to start than simple operations to end.
SHORT = 32
# The same of products under XLA.
SHORT_COMPILED = 16


def column_sums(matrix: tf.Tensor, *weights: tf.Tensor | None) -> list[tf.Tensor]:
    """`sum_i w_i matrix_ij` of `matrix` [..., r, n] for each of `weights` w [..., r], of which None is 1: [..., n]."""
    if matrix.shape[-2] == 1:  # each row alone
        return [tf.squeeze(matrix if each is None else matrix * each[..., tf.newaxis], axis=-2) for each in weights]
    if not _are_products(matrix.shape[-1], matrix.dtype):
        every = [matrix if each is None else matrix * each[..., tf.newaxis] for each in weights]
        return [tf.reduce_sum(each, axis=-2) for each in every]
    shape, one = tf.shape(matrix)[:-1], tf.ones([], matrix.dtype)
    factors = tf.stack([tf.broadcast_to(one if each is None else each, shape) for each in weights], axis=-2)
    # One product reads the matrix once.
    return tf.unstack(tf.matmul(factors, matrix), axis=-2)


def row_sums(matrix: tf.Tensor) -> tf.Tensor:
    """The sums over columns of `matrix` [..., r, n]: [..., r, 1]."""
    # XLA sums columns in two steps, and TensorFlow faster than it multiplies.
    if not is_compiled() or not _are_products(matrix.shape[-1], matrix.dtype):
        return tf.reduce_sum(matrix, axis=-1, keepdims=True)
    return tf.matmul(matrix, tf.ones_like(matrix[..., :1, :]), transpose_b=True)


def lines(slopes: tf.Tensor, places: tf.Tensor, offsets: tf.Tensor) -> tf.Tensor:
    """`slopes_i places_j - offsets_j`, of [..., r] and [..., n]: [..., r, n]."""
    # XLA makes one loop of both operations.
    if is_compiled() or not _are_products(places.shape[-1], places.dtype):
        return slopes[..., tf.newaxis] * places[..., tf.newaxis, :] - offsets[..., tf.newaxis, :]
    rows = tf.stack([slopes, -tf.ones_like(slopes)], axis=-1)
    return tf.matmul(rows, tf.stack([places, offsets], axis=-2))


def _are_products(size: int | None, dtype: tf.DType) -> bool:
    """Whether matrices of lists of this size are multiplied."""
    return not is_at_most(size, SHORT_COMPILED if is_compiled() else SHORT) and products_keep_digits(dtype)
