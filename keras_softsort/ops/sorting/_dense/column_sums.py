"""Weighted sums over the rows of a matrix."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.thresholds import is_at_most

# Up to this many items TensorFlow's softmax and matrix products take longer to start than simple operations to end.
SHORT = 32


def column_sums(matrix: tf.Tensor, *weights: tf.Tensor | None) -> list[tf.Tensor]:
    """`sum_i w_i matrix_ij` of `matrix` [..., r, n] for each of `weights` w [..., r], of which None is 1: [..., n]."""
    if matrix.shape[-2] == 1:  # each row alone
        return [tf.squeeze(matrix if each is None else matrix * each[..., tf.newaxis], axis=-2) for each in weights]
    if is_at_most(matrix.shape[-1], SHORT) or not _products_keep_digits(matrix.dtype):
        every = [matrix if each is None else matrix * each[..., tf.newaxis] for each in weights]
        return [tf.reduce_sum(each, axis=-2) for each in every]
    shape, one = tf.shape(matrix)[:-1], tf.ones([], matrix.dtype)
    factors = tf.stack([tf.broadcast_to(one if each is None else each, shape) for each in weights], axis=-2)
    # One product reads the matrix once.
    return tf.unstack(tf.matmul(factors, matrix), axis=-2)


def _products_keep_digits(dtype: tf.DType) -> bool:
    """Whether a product of matrices has the digits of `dtype`. GPUs and TPUs round float32 factors to 11 or 8 bits."""
    devices = tf.config.list_physical_devices()
    return dtype != tf.float32 or all(device.device_type.endswith("CPU") for device in devices)
