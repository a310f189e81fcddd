"""Running sums of long lists, in blocks."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.core.axes import ceil_division, list_size, with_static_shape

BLOCK = 1024


def running_sums(values: tf.Tensor, *, exclusive: bool = False, reverse: bool = False) -> tf.Tensor:
    """Compute `tf.cumsum` of `values` [B, n] along the lists.

    Blocks of long lists are summed first: the compiler for a TPU cannot take one sum over many float64 numbers.
    """
    size = list_size(values)
    if isinstance(size, int) and size <= BLOCK:
        return tf.cumsum(values, axis=1, exclusive=exclusive, reverse=reverse)
    batch, blocks = tf.shape(values)[0], ceil_division(size, BLOCK)
    padded = tf.pad(values, [[0, 0], [0, blocks * BLOCK - size]])
    in_blocks = tf.reshape(padded, [batch, blocks, BLOCK])
    sums = tf.cumsum(in_blocks, axis=2, exclusive=exclusive, reverse=reverse)
    sums += tf.cumsum(tf.reduce_sum(in_blocks, axis=2, keepdims=True), axis=1, exclusive=True, reverse=reverse)
    return with_static_shape(tf.reshape(sums, [batch, blocks * BLOCK])[:, :size], values.shape)
