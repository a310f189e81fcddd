"""Soft permutations that a method gives as whole matrices: their rows, and products with them."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort._internal.arguments import dtype_tiny
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.sorting._ordering import Lists, Ranks


class MatrixRows(NamedTuple):
    """The rows at some ranks of a differentiable matrix of each list. It has the methods of `SoftRows`."""

    lists: Lists
    ranks: Ranks
    whole: tf.Tensor  # [B, n, n]; entries between a valid and a masked item do not count

    def matrix(self, log: bool = False) -> tf.Tensor:
        """The rows, or their logarithms, `excluded` where no weight is: [B, r, n]."""
        rows, tau = self.ranks.of(self.whole), self.lists.tau[:, :, tf.newaxis]
        rows = tf.where(tf.math.is_nan(tau), tau, rows)
        if self.lists.mask is None:
            return _log(rows) if log else rows
        # A row of a valid item spreads over valid items, another row evenly over masked ones.
        counts = self.lists.valid_counts()[:, :, tf.newaxis]
        valid = self.ranks.numbers[:, :, tf.newaxis] < counts
        rows = tf.where(valid, rows, 1 / tf.cast(tf.maximum(tf.shape(rows)[2] - counts, 1), rows.dtype))
        nothing = excluded(rows.dtype) if log else tf.zeros([], rows.dtype)
        return tf.where(tf.equal(self.lists.mask[:, tf.newaxis, :], valid), _log(rows) if log else rows, nothing)

    def multiply(self, values: tf.Tensor) -> tf.Tensor:
        """The product with `values` [B, n, d]: [B, r, d]."""
        return _product(self.matrix(), values)

    def multiply_transposed(self, values: tf.Tensor) -> tf.Tensor:
        """The product of the transpose with `values` [B, r, d]: [B, n, d]."""
        return _product(tf.linalg.matrix_transpose(self.matrix()), values)


def _log(weights: tf.Tensor) -> tf.Tensor:
    return tf.math.log(tf.maximum(weights, tf.constant(dtype_tiny(weights.dtype), weights.dtype)))


def _product(weights: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """The matrix product. GPUs may round the factors of theirs, so a product with a vector is a sum of products."""
    if values.shape[2] == 1:
        return tf.reduce_sum(weights * tf.linalg.matrix_transpose(values), axis=2, keepdims=True)
    return tf.matmul(weights, values)
