"""The dtype to compute in."""

from __future__ import annotations

import tensorflow as tf


def compute_dtype(dtype: tf.DType) -> tf.DType:
    """Half precision is computed in float32; float32 and float64 as they are."""
    return tf.float32 if dtype.size < 4 else dtype
