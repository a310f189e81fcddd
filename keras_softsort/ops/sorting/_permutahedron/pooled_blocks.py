"""Blocks of positions of sorted lists, and sums over them."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf


class PooledBlocks(NamedTuple):
    """Blocks of positions of sorted lists: the first and the last position `[L, n]` of the block of each position."""

    first: tf.Tensor
    last: tf.Tensor

    def sums(self, values: tf.Tensor) -> tf.Tensor:
        """The sum of `values` [L, n] over the block of each position."""
        lists, size = tf.unstack(tf.shape(values))
        block = tf.reshape(self.first + size * tf.range(lists)[:, tf.newaxis], [-1])
        added = tf.math.unsorted_segment_sum(tf.reshape(values, [-1]), block, lists * size)
        return tf.reshape(tf.gather(added, block), [lists, size])

    def sizes(self, dtype: tf.DType) -> tf.Tensor:
        """The size of the block of each position."""
        return tf.cast(self.last - self.first + 1, dtype)

    def means(self, values: tf.Tensor) -> tf.Tensor:
        """The mean of `values` [L, n] over the block of each position."""
        return self.sums(values) / self.sizes(values.dtype)
