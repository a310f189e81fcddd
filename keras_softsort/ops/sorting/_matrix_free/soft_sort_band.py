"""SoftSort's weights of power 2 between blocks of ranks and of items: exp(-(x_i - x_j)^2), x in units of sqrt(tau)."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops.sorting._matrix_free.block_sums import BLOCK, BlockedLists, BlockRange, block_range, outer
from keras_softsort.ops.sorting._ordering import MAX_GAP


class SoftSortBand(NamedTuple):
    """Sorted scores in float64, in blocks. The matrix is symmetric except for the divisors of its rows."""

    blocks: BlockedLists
    dtype: tf.DType  # of the exponentials
    scores: tf.Tensor  # [blocks, BLOCK]
    columns_of: BlockRange
    rows_of: BlockRange

    def weights(self, rows: tf.Tensor, columns: tf.Tensor, transposed: bool = False) -> tf.Tensor:
        """Of pairs of blocks [T] and [T]: [T, BLOCK of rows, BLOCK of columns], or the other way round."""
        distance = outer(tf.subtract, tf.gather(self.scores, rows), tf.gather(self.scores, columns), transposed)
        return tf.cast(tf.exp(-tf.square(tf.cast(distance, self.dtype))), tf.float64)

    def offsets(self, rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
        """The score of each rank of a block relative to that of the first of a block of items: [T, BLOCK, 1]."""
        apart = tf.gather(self.scores, rows) - tf.gather(self.scores[:, :1], columns)
        return apart[:, :, tf.newaxis]

    def own_offsets(self) -> tf.Tensor:
        """The same of each item: [blocks, BLOCK]."""
        return self.scores - self.scores[:, :1]


def soft_sort_band(blocks: BlockedLists, scores: tf.Tensor, cut: tf.Tensor, dtype: tf.DType) -> SoftSortBand:
    """The band for descending `scores` [L, padded n] in float64, in units of sqrt(tau), without drops beyond `cut`."""
    # Gaps are clipped where all weights across them are 0, so that their sum keeps the precision of the others.
    gaps = tf.minimum(scores[:, :-1] - scores[:, 1:], tf.sqrt(tf.maximum(cut, MAX_GAP[dtype])))
    scores = tf.reshape(-tf.cumsum(tf.pad(gaps, [[0, 0], [1, 0]]), axis=1), [-1, BLOCK])

    def within_cutoff(one: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
        first, second = tf.minimum(one, other), tf.maximum(one, other)
        apart = tf.gather(scores[:, -1], first) - tf.gather(scores[:, 0], second)
        return tf.logical_or(tf.equal(one, other), tf.square(apart) <= cut)

    both = block_range(blocks, within_cutoff)
    return SoftSortBand(blocks, dtype, scores, both, both)
