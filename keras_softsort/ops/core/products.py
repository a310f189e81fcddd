"""Matrix products whose result keeps the digits of float32 on devices that multiply matrices in fewer."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.core.target import multiplies_coarsely

# Without the lower half of its bits, a float32 number is a bfloat16 number, which TF32 holds, too.
_UPPER_BITS = -(2**16)


def inner_products(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """The products [..., m, n] of all rows of `x` [..., m, d] and `y` [..., n, d].

    A GPU rounds the factors to 11 bits and a TPU to 8, unless `enable_tensor_float_32_execution(False)` was called.
    There, each factor is the sum of two parts, of 8 and 16 bits, and one matrix product adds all four products of
    parts. `product_error` is what it then loses. Derivatives are rounded as those of any product.
    """
    if x.dtype != tf.float32 or not multiplies_coarsely():
        return tf.matmul(x, y, transpose_b=True)
    x, x_low = _parts(x)
    y, y_low = _parts(y)
    x, y = tf.concat([x, x, x_low, x_low], axis=-1), tf.concat([y, y_low, y, y_low], axis=-1)
    return tf.matmul(x, y, transpose_b=True)


def product_error(dtype: tf.DType) -> float:
    """The error of `inner_products` relative to the lengths of the vectors, beyond that of a sum in `dtype`."""
    return 2.0**-15 if dtype == tf.float32 and multiplies_coarsely() else 0.0


def times_vector(matrix: tf.Tensor, vector: tf.Tensor) -> tf.Tensor:
    """The products [B, m] of matrices [B, m, n] and vectors [B, n], as sums, which keep their digits on all devices."""
    return tf.reduce_sum(matrix * vector[:, tf.newaxis, :], axis=2)


def _parts(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The upper bits of `x`, which have its derivative, and the exact rest, which has none."""
    upper = tf.bitcast(tf.bitwise.bitwise_and(tf.bitcast(x, tf.int32), _UPPER_BITS), tf.float32)
    rest = tf.stop_gradient(x - upper)
    return x - rest, rest
