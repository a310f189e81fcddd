"""Isotonic regression by pooling all adjacent violators at once, in rounds.

Blocks whose levels rise are joined, as the sequential algorithm joins them one after the other. At most temperatures
lists hold one long run of violators or few of them, and a few rounds solve them. In between, a block may grow by one
position a round, which would take thousands of rounds.
"""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.lists import take, tied_ranks
from keras_softsort.ops.sorting._permutahedron.level import Level
from keras_softsort.ops.sorting._permutahedron.pooled_blocks import PooledBlocks

# Where these do not solve it, their time is lost.
ROUNDS = 8


def pooled(x: tf.Tensor, origin: tf.Tensor, stop: tf.Tensor, level: Level) -> tuple[PooledBlocks, tf.Tensor]:
    """The blocks of the positions of all lists [N] after up to `ROUNDS` rounds, and whether they are the optimum.

    `origin` is the first position of the list of each number `x`, and `stop` follows its last one that is joined.
    """
    positions = tf.range(tf.size(x))

    def below_next(blocks: PooledBlocks) -> tf.Tensor:
        """Whether each position is the last of a block whose level is below that of the next one."""
        head = take(x[tf.newaxis], blocks.first)
        levels = level.of_blocks(x - head, blocks) + level.of_positions(blocks.first - origin, blocks.last - origin)
        # Without the last position, which has no next one.
        rise = ((head[:, 1:] - head[:, :-1]) + (levels[:, 1:] - levels[:, :-1]))[0]
        here, last = positions[:-1], blocks.last[0, :-1]
        is_before_another = tf.logical_and(tf.equal(here, last), here + 1 < stop[:-1])
        return tf.logical_and(is_before_another, rise > 0)

    def join(number: tf.Tensor, joins: tf.Tensor, first: tf.Tensor, last: tf.Tensor) -> tuple[tf.Tensor, ...]:
        del last
        starts = tf.logical_and(tf.equal(positions[1:], first[0, 1:]), tf.logical_not(joins))
        numbers = tf.concat([[0], tf.cumsum(tf.cast(starts, tf.int32))], axis=0)
        blocks = PooledBlocks(*tied_ranks(-numbers[tf.newaxis, : tf.size(x)]))
        return number + 1, below_next(blocks), *blocks

    alone = PooledBlocks(positions[tf.newaxis], positions[tf.newaxis])
    _, joins, *blocks = tf.while_loop(
        lambda number, joins, *_: tf.logical_and(number < ROUNDS, tf.reduce_any(joins)),
        join,
        (tf.constant(0), below_next(alone), *alone),
    )
    return PooledBlocks(*blocks), tf.logical_not(tf.reduce_any(joins))
