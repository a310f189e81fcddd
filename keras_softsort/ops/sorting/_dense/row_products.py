"""Products of values with dense rows of a soft permutation. The gradient keeps the precision of close values."""

from __future__ import annotations

import tensorflow as tf


def multiply_rows(matrix: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """`matrix @ values` of rows [B, r, n] that sum to 1 and values [B, n, d]: [B, r, d].

    The gradient of row i, `u_i w_j`, is replaced by `u_i (w_j - (P w)_i)`. The gradient of a softmax does not depend on
    a constant per row, and the difference of close values is exact.
    """

    @tf.custom_gradient
    def product(matrix: tf.Tensor, values: tf.Tensor) -> tuple:
        result = tf.matmul(matrix, values)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            if values.shape[2] == 1:
                d_matrix = (tf.linalg.matrix_transpose(values) - result) * upstream
            else:
                # Values relative to one of them; differences per row would take d times the memory of the matrix.
                reference = values[:, :1]
                d_matrix = tf.matmul(upstream, values - reference, transpose_b=True)
                d_matrix -= tf.reduce_sum(upstream * (result - reference), axis=-1, keepdims=True)
            return d_matrix, tf.matmul(matrix, upstream, transpose_a=True)

        return result, gradient

    return product(matrix, values)
