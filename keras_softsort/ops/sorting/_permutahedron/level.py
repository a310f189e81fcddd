"""What a method of isotonic regression needs to know of the levels of runs."""

from __future__ import annotations

from typing import Protocol

import tensorflow as tf

from keras_softsort.ops.sorting._permutahedron.pooled_blocks import PooledBlocks


class Level(Protocol):
    """The level of a run: a statistic of its numbers plus a part that depends only on its positions."""

    def join(self, gap: tf.Tensor, left: tf.Tensor, right: tf.Tensor, sizes: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        """The statistic of two adjacent runs, less the first number of the left one, which is `gap` below the right's.

        `left` and `right` are those of the runs, each less the first number of its run; 0 for one position.
        """

    def of_blocks(self, rest: tf.Tensor, found: PooledBlocks) -> tf.Tensor:
        """The statistic of each position's block, from `rest`, sorted numbers less the first one of their block."""

    def of_positions(self, first: tf.Tensor, last: tf.Tensor) -> tf.Tensor:
        """The part of the level that depends on the positions `first` to `last` of their lists."""
