"""The number of inversions of a permutation, in O(n log n) time and O(n) memory."""

from __future__ import annotations

import tensorflow as tf


def count_inversions(permutation: tf.Tensor) -> tf.Tensor:
    """Count the pairs in descending order of each `permutation` [batch, n] of int32 values 0 to n - 1: int64 [batch].

    It is a radix sort from the highest bit down. Before each pass, values with the same higher bits form a block, in
    their original order. The pass moves the values with bit 0 before those with bit 1, and counts the pairs that swap.
    Since the values are a permutation, the block of the values from `start` on begins at position `start`.
    """
    batch, size = tf.unstack(tf.shape(permutation))
    index = tf.broadcast_to(tf.range(size), tf.shape(permutation))
    offsets = size * tf.range(batch)[:, tf.newaxis]
    bits = tf.reduce_sum(tf.cast(tf.bitwise.left_shift(1, tf.range(31)) < size, tf.int32))

    def sort_by_bit(bit: tf.Tensor, values: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        half = tf.bitwise.left_shift(1, bit)
        is_small = tf.equal(tf.bitwise.bitwise_and(values, half), 0)
        start = index - tf.bitwise.bitwise_and(index, 2 * half - 1)
        # Blocks before this one are full: half of their values are small.
        small_before = tf.cumsum(tf.cast(is_small, tf.int32), axis=-1, exclusive=True) - start // 2
        large_before = index - start - small_before
        crossed = tf.where(is_small, large_before, tf.zeros_like(large_before))
        total += tf.reduce_sum(tf.cast(crossed, tf.int64), axis=-1)
        position = start + tf.where(is_small, small_before, half + large_before)
        flat = tf.scatter_nd(
            tf.reshape(position + offsets, [-1, 1]), tf.reshape(values, [-1]), tf.reshape(batch * size, [1])
        )
        return bit - 1, tf.reshape(flat, [batch, size]), total

    state = (bits - 1, permutation, tf.zeros([batch], tf.int64))
    shapes = (tf.TensorShape([]), permutation.shape, tf.TensorShape([permutation.shape[0]]))
    unknown = (shapes[0], tf.TensorShape([None, None]), tf.TensorShape([None]))
    return tf.while_loop(lambda bit, *_: bit >= 0, sort_by_bit, state, shape_invariants=unknown)[2]
