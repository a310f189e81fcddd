"""Matrix products whose result keeps the digits of float32 on devices that multiply matrices in fewer."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.core.target import multiplies_coarsely
from keras_softsort.ops.core.tracing import is_compiled

# Without the lower half of its bits, a float32 number is a bfloat16 number, which TF32 holds, too.
_UPPER_BITS = -(2**16)
# The longest lists for which a sum takes less time than a matrix product.
LONGEST_SUMS = {"XLA": 24, "graph": 128}


def inner_products(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """The products [..., m, n] of all rows of `x` [..., m, d] and `y` [..., n, d].

    A GPU rounds the factors to 11 bits and a TPU to 8, unless `enable_tensor_float_32_execution(False)` was called.
    There, each factor is the sum of two parts, of 8 and 16 bits, and one matrix product adds all four products of
    parts. Its error is at most 2^-15 of the product of the lengths. Derivatives are rounded as those of any product.
    """
    if x.dtype != tf.float32 or not multiplies_coarsely():
        return tf.matmul(x, y, transpose_b=True)
    x, x_low = _parts(x)
    y, y_low = _parts(y)
    x, y = tf.concat([x, x, x_low, x_low], axis=-1), tf.concat([y, y_low, y, y_low], axis=-1)
    return tf.matmul(x, y, transpose_b=True)


def by_sums(size: int | None) -> bool:
    """Whether products with vectors are sums of products, for lists of this `size`, None if it is unknown.

    A sum keeps the digits on every device. On a CPU the product of a matrix does, too, and takes less time on longer
    lists: a step of soft values of 8 lists of 500 items takes 0.9 times as long with it under XLA
    (benchmarks/operators/variants.py).
    """
    return multiplies_coarsely() or size is None or size <= LONGEST_SUMS["XLA" if is_compiled() else "graph"]


def times_vector(matrix: tf.Tensor, vector: tf.Tensor) -> tf.Tensor:
    """The products [B, m] of matrices [B, m, n] and vectors [B, n]."""
    if by_sums(vector.shape[1]):
        return tf.reduce_sum(matrix * vector[:, tf.newaxis, :], axis=2)
    return tf.linalg.matvec(matrix, vector)


def _parts(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The upper bits of `x`, which have its derivative, and the exact rest, which has none."""
    upper = tf.bitcast(tf.bitwise.bitwise_and(tf.bitcast(x, tf.int32), _UPPER_BITS), tf.float32)
    rest = tf.stop_gradient(x - upper)
    return x - rest, rest
