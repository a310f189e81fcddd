"""The pairs that a permutation puts in descending order."""

from __future__ import annotations

import tensorflow as tf


def count_inversions(permutation: tf.Tensor, weights: tf.Tensor | None = None) -> tf.Tensor:
    """Count the pairs in descending order of each `permutation` [batch, n] of int32 values 0 to n - 1: int64 [batch].

    With `weights` [batch, n] each pair has the weight of its smaller value, and the sum has their dtype. It is a radix
    sort from the highest bit down. A pass moves the values with bit 0 before those with bit 1 within blocks of equal
    higher bits, and counts the pairs that swap. The block of the values from `start` on begins at position `start`.
    """
    batch, size = tf.unstack(tf.shape(permutation))
    index = tf.broadcast_to(tf.range(size), tf.shape(permutation))
    offsets = size * tf.range(batch)[:, tf.newaxis]
    bits = tf.reduce_sum(tf.cast(tf.bitwise.left_shift(1, tf.range(31)) < size, tf.int32))
    dtype = tf.int64 if weights is None else weights.dtype

    def sort_by_bit(bit: tf.Tensor, total: tf.Tensor, values: tf.Tensor, *weights: tf.Tensor) -> tuple[tf.Tensor, ...]:
        half = tf.bitwise.left_shift(1, bit)
        is_small = tf.equal(tf.bitwise.bitwise_and(values, half), 0)
        start = index - tf.bitwise.bitwise_and(index, 2 * half - 1)
        # Blocks before this one are full: half of their values are small.
        small_before = tf.cumsum(tf.cast(is_small, tf.int32), axis=-1, exclusive=True) - start // 2
        large_before = index - start - small_before
        crossed = tf.cast(tf.where(is_small, large_before, tf.zeros_like(large_before)), dtype)
        total += tf.reduce_sum(crossed * weights[0] if weights else crossed, axis=-1)
        position = tf.reshape(start + tf.where(is_small, small_before, half + large_before) + offsets, [-1, 1])
        moved = (
            tf.scatter_nd(position, tf.reshape(part, [-1]), tf.reshape(batch * size, [1]))
            for part in (values, *weights)
        )
        return bit - 1, total, *(tf.reshape(part, [batch, size]) for part in moved)

    lists = (permutation,) if weights is None else (permutation, weights)
    unknown = (tf.TensorShape([]), tf.TensorShape([None]), *[tf.TensorShape([None, None]) for _ in lists])
    state = (bits - 1, tf.zeros([batch], dtype), *lists)
    # XLA compiles a gradient, even an unused one, only with a limit.
    return tf.while_loop(lambda bit, *_: bit >= 0, sort_by_bit, state, shape_invariants=unknown, maximum_iterations=31)[
        1
    ]
