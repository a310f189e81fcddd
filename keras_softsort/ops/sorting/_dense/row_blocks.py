"""Consecutive rows of a matrix in blocks: what they have in common is computed for one of them."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf


class RowBlocks(NamedTuple):
    """Rows `[B, r]` in blocks of `height` ranks that follow each other, or each alone."""

    centers: tf.Tensor  # [B, r / height]: the rank in the middle of each block
    offsets: tf.Tensor  # [height]: how far each row of a block is behind that
    height: int

    def split(self, rows: tf.Tensor) -> tf.Tensor:
        """`rows` [B, r, ...] as [B, blocks, height, ...]."""
        shape = tf.shape(rows)
        return tf.reshape(rows, tf.concat([shape[:1], [tf.shape(self.centers)[1], self.height], shape[2:]], axis=0))

    def join(self, blocks: tf.Tensor) -> tf.Tensor:
        """The inverse of `split`."""
        batch, count, _, size = tf.unstack(tf.shape(blocks))
        return tf.reshape(blocks, [batch, count * self.height, size])


def row_blocks(rows: tf.Tensor, consecutive: bool, max_height: int) -> RowBlocks:
    """Blocks of up to `max_height` of the ranks `rows` [B, r], which are `consecutive` or any."""
    count = rows.shape[1]
    heights = range(max_height, 0, -1) if consecutive and count else (1,)
    height = next(each for each in heights if height_divides(count, each))
    middle = height // 2
    return RowBlocks(rows[:, middle::height], tf.range(-middle, height - middle), height)


def height_divides(count: int | None, height: int) -> bool:
    """Whether `count` rows are so many blocks of `height`."""
    return height == 1 or (count is not None and count % height == 0)
