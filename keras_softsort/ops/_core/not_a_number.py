"""Results of lists that hold what has no meaning: NaN, with a NaN gradient, and no other list's."""

from __future__ import annotations

import math

import tensorflow as tf


def nan_where(failed: tf.Tensor, results: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
    """`results` [B], NaN with a NaN gradient of `scores` [B, ...] where `failed` [B].

    A sum, not a product: a NaN would otherwise travel through the gradient of everything that made `results`.
    """
    poison = tf.where(failed, tf.constant(math.nan, results.dtype), tf.zeros_like(results))
    sums = tf.reduce_sum(scores, axis=list(range(1, scores.shape.rank)))
    return results + tf.math.multiply_no_nan(tf.cast(sums, results.dtype), poison)
