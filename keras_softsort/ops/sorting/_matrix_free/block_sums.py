"""Sorted lists cut into blocks, and sums over the pairs of blocks that matter, for matrix-free products."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

# Positions of a block, and the number of blocks processed at a time, whose pairs fit into the cache.
BLOCK, TILE = 64, 64


class BlockedLists(NamedTuple):
    """Lists `[L, n]` cut into blocks of `BLOCK` positions. The last one is padded; numbers run through all lists."""

    per_list: tf.Tensor
    lists: tf.Tensor
    size: tf.Tensor  # n

    def cut(self, values: tf.Tensor) -> tf.Tensor:
        """`values` [L, n, ...] as [blocks, BLOCK, ...], padded with 0."""
        inner = [[0, 0]] * (values.shape.rank - 2)
        padded = tf.pad(values, [[0, 0], [0, self.per_list * BLOCK - self.size], *inner])
        return tf.reshape(padded, tf.concat([[self.lists * self.per_list, BLOCK], tf.shape(values)[2:]], axis=0))

    def extend(self, values: tf.Tensor) -> tf.Tensor:
        """`values` [L, n] up to the end of the last block, by the last of them."""
        return tf.gather(values, tf.minimum(tf.range(self.per_list * BLOCK), self.size - 1), axis=1)

    def join(self, values: tf.Tensor) -> tf.Tensor:
        """The inverse of `cut`."""
        joined = tf.concat([[self.lists, self.per_list * BLOCK], tf.shape(values)[2:]], axis=0)
        return tf.reshape(values, joined)[:, : self.size]


class BlockRange(NamedTuple):
    """The contiguous blocks that matter to each block: the number of the first, and their count."""

    first: tf.Tensor  # [blocks]
    count: tf.Tensor  # [blocks]


def blocks_of(values: tf.Tensor) -> BlockedLists:
    """The blocks of `values` [L, n]."""
    lists, size = tf.unstack(tf.shape(values))
    return BlockedLists((size + BLOCK - 1) // BLOCK, lists, size)


def block_range(blocks: BlockedLists, matters: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]) -> BlockRange:
    """The distance from each block up to which `matters(own, other)` holds. It is monotone in the distance."""
    own = tf.range(blocks.lists * blocks.per_list)
    number = own % blocks.per_list
    before = _bisect_extent(number, lambda distance: matters(own, own - distance))
    after = _bisect_extent(blocks.per_list - 1 - number, lambda distance: matters(own, own + distance))
    return BlockRange(own - before, before + after + 1)


def _bisect_extent(limits: tf.Tensor, holds: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    """The largest distance up to `limits` for which `holds` is true, by bisection. It is true for 0."""

    def halve(inside: tf.Tensor, outside: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        middle = (inside + outside) // 2
        within = holds(middle)
        return tf.where(within, middle, inside), tf.where(within, outside, middle)

    inside, _ = tf.while_loop(
        lambda inside, outside: tf.reduce_any(outside - inside > 1), halve, [tf.zeros_like(limits), limits + 1]
    )
    return inside


def sum_over_blocks(
    near: BlockRange, pair_sums: Callable[[tf.Tensor, tf.Tensor], tf.Tensor], columns: int | tf.Tensor
) -> tf.Tensor:
    """Sum `pair_sums(own, other)` over the blocks `other` that matter to each block `own`: [blocks, BLOCK, columns].

    `pair_sums` takes the numbers of T pairs of blocks, [T] each, and returns float64 [T, BLOCK, columns].
    """
    total = tf.shape(near.first)[0]
    tile = tf.minimum(total, TILE)
    tiles = (total + tile - 1) // tile
    own = tf.reshape(tf.minimum(tf.range(tiles * tile), total - 1), [tiles, tile])

    def walk(own: tf.Tensor) -> tf.Tensor:
        first, count = tf.gather(near.first, own), tf.gather(near.count, own)

        def step(distance: tf.Tensor, sums: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            more = pair_sums(own, first + tf.minimum(distance, count - 1))
            inside = tf.cast(distance < count, more.dtype)
            return distance + 1, sums + inside[:, tf.newaxis, tf.newaxis] * more

        start = tf.zeros([tile, BLOCK, columns], tf.float64)
        return tf.while_loop(lambda distance, _: distance < tf.reduce_max(count), step, [0, start])[1]

    sums = tf.map_fn(walk, own, fn_output_signature=tf.float64)
    return tf.reshape(sums, tf.concat([[tiles * tile], tf.shape(sums)[2:]], axis=0))[:total]
