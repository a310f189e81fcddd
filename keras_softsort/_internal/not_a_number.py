"""NaN as the result of lists that cannot be computed.

It is computed from the marks of what failed, and is no constant: `tf.debugging.enable_check_numerics` would report a
NaN constant in every graph, even if no result is NaN.
"""

from __future__ import annotations

import tensorflow as tf


def at_least_or_nan(values: tf.Tensor, bound: float) -> tf.Tensor:
    """Whether `values` are at least `bound` or NaN.

    The negation of `values < bound` is no way to write it: TensorFlow's graph optimizer turns that into
    `values >= bound`, which does not hold for NaN.
    """
    return tf.logical_or(values >= bound, tf.math.is_nan(values))


def zero_or_nan(failed: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """NaN where `failed` holds, and 0 elsewhere."""
    return tf.sqrt(-tf.cast(failed, dtype))


def or_nan(values: tf.Tensor, failed: tf.Tensor) -> tf.Tensor:
    """`values`, or NaN where `failed` holds, which broadcasts; values there get no gradient."""
    return tf.where(failed, zero_or_nan(failed, values.dtype), values)
