"""Running sums of float64 numbers, in a form that the compiler for a TPU takes little time for."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.core.target import emulates_float64


def running_sums(values: tf.Tensor) -> tf.Tensor:
    """Sum the float64 `values` [B, n] up to each one. Sizes are known when traced for a TPU."""
    size = values.shape[1]
    if size is None or not emulates_float64():
        return tf.cumsum(values, axis=1)
    places = tf.range(size)

    def double(width: tf.Tensor, sums: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """From sums of up to `width` values, compute sums of up to twice as many."""
        before = tf.where(places >= width, tf.roll(sums, width, axis=1), tf.zeros([], sums.dtype))
        return 2 * width, sums + before

    return tf.while_loop(lambda width, _: width < size, double, [1, values], maximum_iterations=size.bit_length())[1]
