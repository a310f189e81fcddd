"""Products and sums that keep their digits, and results with another gradient: NaN, straight through, or refused."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._internal.not_a_number import zero_or_nan
from keras_softsort.ops.core.axes import ceil_division, is_at_most, with_static_shape
from keras_softsort.ops.core.tracing import is_watched, multiplies_coarsely

# Without the lower half of its bits, a float32 number is a bfloat16 number, which TF32 holds, too.
_UPPER_BITS = -(2**16)
BLOCK_OF_SUMS = 256
# Up to this many columns, products with vectors are sums over a matrix. Matrix products start more slowly.
MAX_COLUMNS_OF_SUMS = 16


def nan_where(failed: tf.Tensor, result: tf.Tensor, *anchors: tf.Tensor) -> tf.Tensor:
    """Make `result` NaN where `failed` holds, with a NaN gradient for it and each of `anchors`, which broadcast."""
    poison = zero_or_nan(failed, result.dtype)
    for anchor in anchors:
        # Without the inner `tf.where`, the NaN would reach the gradient of other lists, since 0 * NaN is NaN.
        result += poison * tf.cast(tf.where(failed, anchor, tf.zeros_like(anchor)), result.dtype)
    return result + poison


def nan_lists(failed: tf.Tensor, results: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
    """Make `results` [B] NaN where `failed` [B] holds, with a NaN gradient for `scores` [B, ...]."""
    return nan_where(failed, results, tf.reduce_sum(scores, axis=list(range(1, scores.shape.rank))))


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


def vector_product(matrix: tf.Tensor, vector: tf.Tensor, *, transpose: bool = False) -> tf.Tensor:
    """The product [..., m] of matrices [..., m, n], or of their transposes, and vectors.

    It is a sum of products where the factors of a matrix product would be rounded, and for few columns.
    """
    if is_at_most(matrix.shape[-1], MAX_COLUMNS_OF_SUMS) or multiplies_coarsely():
        over, along = (-2, -1) if transpose else (-1, -2)
        return tf.reduce_sum(matrix * tf.expand_dims(vector, along), axis=over)
    return tf.linalg.matvec(matrix, vector, transpose_a=transpose)


def sum_of_outer_products(left: list[tf.Tensor], right: list[tf.Tensor]) -> tf.Tensor:
    """The sum [..., m, n] of the outer products of vectors [..., m] and [..., n], pair by pair."""
    if is_at_most(right[0].shape[-1], MAX_COLUMNS_OF_SUMS):
        pairs = zip(left, right, strict=True)
        return tf.add_n([one[..., tf.newaxis] * other[..., tf.newaxis, :] for one, other in pairs])
    return inner_products(tf.stack(left, axis=-1), tf.stack(right, axis=-1))


def _parts(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The upper bits of `x`, which have its derivative, and the exact rest, which has none."""
    upper = tf.bitcast(tf.bitwise.bitwise_and(tf.bitcast(x, tf.int32), _UPPER_BITS), tf.float32)
    rest = tf.stop_gradient(x - upper)
    return x - rest, rest


def running_sums(values: tf.Tensor, *, exclusive: bool = False, reverse: bool = False) -> tf.Tensor:
    """Compute `tf.cumsum` of `values` [B, n] along the lists.

    Blocks of long float64 lists are summed first. A TPU emulates float64, and its compiler takes minutes for a sum over
    100,000 such numbers.
    """
    size = values.shape[1]
    if size is None or size <= BLOCK_OF_SUMS or values.dtype != tf.float64:
        return tf.cumsum(values, axis=1, exclusive=exclusive, reverse=reverse)
    batch, blocks = tf.shape(values)[0], ceil_division(size, BLOCK_OF_SUMS)
    padded = tf.pad(values, [[0, 0], [0, blocks * BLOCK_OF_SUMS - size]])
    in_blocks = tf.reshape(padded, [batch, blocks, BLOCK_OF_SUMS])
    before = running_sums(tf.reduce_sum(in_blocks, axis=2), exclusive=True, reverse=reverse)
    sums = tf.cumsum(in_blocks, axis=2, exclusive=exclusive, reverse=reverse) + before[:, :, tf.newaxis]
    return with_static_shape(tf.reshape(sums, [batch, blocks * BLOCK_OF_SUMS])[:, :size], values.shape)


def straight_through(hard: tf.Tensor, soft: tf.Tensor) -> tf.Tensor:
    """Return `hard` with the gradient of `soft`; NaN where `soft` is NaN.

    `soft + stop_gradient(hard - soft)` would round. `tf.vectorized_map` would drop a custom gradient.
    """
    is_infinite = tf.math.is_inf(soft)  # whose difference from itself is NaN
    return tf.stop_gradient(hard) + tf.where(is_infinite, tf.zeros_like(soft), soft - tf.stop_gradient(soft))


def with_slopes(result: tf.Tensor, slopes: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """Return `result` [B] with the gradient `slopes` [B, n] for `x` [B, n], and no second derivatives.

    `tf.vectorized_map` would drop a custom gradient.
    """
    moved = tf.math.multiply_no_nan(tf.stop_gradient(slopes), x - tf.stop_gradient(x))  # 0, also for infinite slopes
    return tf.stop_gradient(result) + tf.reduce_sum(moved, axis=-1)


def refuse_own_gradient(operator: str, result: tf.Tensor) -> tf.Tensor:
    """Return `result` of a custom gradient, with an error for the gradient of its operations.

    `tf.vectorized_map` drops the custom gradient, and that of the operations is wrong.
    """
    message = f"{operator} has no gradient around tf.vectorized_map: take it inside, or use tf.map_fn"
    return tf.raw_ops.PreventGradient(input=result, message=message)


def refuse_forward_mode(operator: str, *tensors: tf.Tensor) -> None:
    """Raise if `tf.autodiff.ForwardAccumulator` watches one of `tensors`, eagerly or in the function being traced."""
    if is_watched(tensors):
        raise RuntimeError(
            f"{operator} has no derivative in forward mode (tf.autodiff.ForwardAccumulator); use tape.jacobian instead"
        )
