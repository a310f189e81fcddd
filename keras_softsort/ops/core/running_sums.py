"""Running sums, in a form that the compiler for a TPU takes little time for."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.core.target import emulates_float64


def running_sums(values: tf.Tensor, *, exclusive: bool = False, reverse: bool = False) -> tf.Tensor:
    """Compute `tf.cumsum` of `values` [B, n] along the lists."""
    size = values.shape[1]
    if size is None or values.dtype != tf.float64 or not emulates_float64():
        return tf.cumsum(values, axis=1, exclusive=exclusive, reverse=reverse)
    places = tf.range(size)

    def shifted(values: tf.Tensor, width: tf.Tensor | int) -> tf.Tensor:
        """The value that is `width` places before each, or after it in reverse; 0 where there is none."""
        moved = tf.roll(values, -width if reverse else width, axis=1)
        is_there = places < size - width if reverse else places >= width
        return tf.where(is_there, moved, tf.zeros([], values.dtype))

    def double(width: tf.Tensor, sums: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """From sums of up to `width` values, compute sums of up to twice as many."""
        return 2 * width, sums + shifted(sums, width)

    start = shifted(values, 1) if exclusive else values
    return tf.while_loop(lambda width, _: width < size, double, [1, start], maximum_iterations=size.bit_length())[1]
