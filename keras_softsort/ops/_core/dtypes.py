"""The compute dtype."""

from __future__ import annotations

import tensorflow as tf


def compute_dtype(dtype: tf.DType) -> tf.DType:
    """Return float32 for half precision, and `dtype` for float32 and float64."""
    return tf.float32 if dtype.size < 4 else dtype
