"""Sums over a sorted list with weights that decay exponentially with distance, as the Laplace density does."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.decay_scan import decay_scan


def laplace_sums(positions: tf.Tensor, values: tf.Tensor, dtype: tf.DType | None = None) -> tuple[tf.Tensor, tf.Tensor]:
    """Compute `sum_j exp(-|p_j - p_i|) v_j` over j <= i, and over j >= i: `[L, d, n]` each.

    The `positions` p `[L, n]` must not decrease. The `values` v are `[L, d, n]`. `dtype` is that of exponentials, see
    `decay_scan`.
    """
    # One scan for both directions is half the program to compile.
    both_ways = tf.concat([positions, -tf.reverse(positions, axis=[1])], axis=0)
    values = tf.concat([values, tf.reverse(values, axis=[2])], axis=0)
    before, after = tf.split(decay_scan(both_ways, values, dtype), 2)
    return before, tf.reverse(after, axis=[2])
