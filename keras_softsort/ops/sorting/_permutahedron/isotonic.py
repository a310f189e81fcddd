"""Isotonic regression: the blocks of the optimum, by a few rounds of pooling, or else by divide and conquer.

Each run of positions of a list has a level. The optimum is the partition into blocks whose levels fall, as pooling
adjacent violators finds it. Blocks of equal levels are one block. No loop goes over the positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.order import take, tie_sums, tied_ranks
from keras_softsort.ops.sorting._ordering import MAX_QUOTIENT, working_dtype

# Rounds of pooling before the halves are merged. Most lists are solved by them, and faster than by merging halves
# (benchmarks/operators/variants.py). Where they do not solve it, their time is lost.
ROUNDS = 8
# Levels that differ by less than this share of the distance of their first numbers are equal. Scores such as 0.1, 0.2
# and 0.3 are then 0.1 apart, and results change by no more than they are rounded.
ROUNDING = {tf.float32: 5e-7, tf.float64: 1e-12}


class PooledBlocks(NamedTuple):
    """Blocks of positions of sorted lists: the first and the last position `[L, n]` of the block of each position."""

    first: tf.Tensor
    last: tf.Tensor

    def sums(self, values: tf.Tensor) -> tf.Tensor:
        """The sum of `values` [L, n] over the block of each position, which may have all items of a long list."""
        return tf.cast(tie_sums(tf.cast(values, working_dtype(values)), self.first), values.dtype)

    def sizes(self, dtype: tf.DType) -> tf.Tensor:
        """The size of the block of each position."""
        return tf.cast(self.last - self.first + 1, dtype)

    def means(self, values: tf.Tensor) -> tf.Tensor:
        """The mean of `values` [L, n] over the block of each position."""
        return self.sums(values) / self.sizes(values.dtype)


class Level(NamedTuple):
    """The level of a run: the mean of its numbers or `-log sum exp(-number)`, plus a part that its positions decide."""

    is_soft: bool
    of_positions: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]  # of the first and the last position of a run
    rounding: float  # see `ROUNDING`
    unit: tf.Tensor | None = None  # [N]: the unit of the numbers at each position of all lists; None: 1

    def apart(self, before: tf.Tensor, after: tf.Tensor) -> tf.Tensor:
        """The distances [N] from the numbers `before` to `after`, in their unit, clipped so that no sum overflows."""
        # Different numbers may have equal quotients.
        distances = after - before if self.unit is None else (after - before) / self.unit
        return tf.clip_by_value(distances, -MAX_QUOTIENT[distances.dtype], MAX_QUOTIENT[distances.dtype])

    def rise(self, heads: tuple[tf.Tensor, tf.Tensor], levels: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        """How far the second level is above the first one, 0 if they are equal. Both are less the `heads`."""
        apart = self.apart(*heads)
        found = apart + (levels[1] - levels[0])
        return tf.where(tf.abs(found) <= self.rounding * tf.abs(apart), tf.zeros_like(found), found)

    def join(self, gap: tf.Tensor, left: tf.Tensor, right: tf.Tensor, sizes: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        """The statistic of two adjacent runs together, relative to the first number of the left run.

        `left` and `right` are the statistics of the two runs, each relative to the first number of its own run, so 0
        for one position. `gap` is the first number of the right run minus that of the left run.
        """
        if self.is_soft:
            return left - tf.math.softplus(left - right - gap)
        # Weighted by the sizes so that equal means stay as they are.
        share = tf.cast(sizes[1], gap.dtype) / tf.cast(sizes[0] + sizes[1], gap.dtype)
        return left + share * (gap + right - left)

    def of_blocks(self, rest: tf.Tensor, found: PooledBlocks) -> tf.Tensor:
        """The statistic of each position's block, from `rest`, sorted numbers less the first one of their block.

        They have the working dtype of their lists already, which may be float32: here all lists are one long list.
        """
        if not self.is_soft:
            return tie_sums(rest, found.first) / found.sizes(rest.dtype)
        least = tf.minimum(take(rest, found.last), 0)  # the least number is the first or the last
        return least - tf.math.log(tie_sums(tf.exp(least - rest), found.first))


class _Solved(NamedTuple):
    """Solved halves: for each position of all lists, its block and the runs from it to the ends of its half."""

    first: tf.Tensor  # of its block
    last: tf.Tensor
    head: tf.Tensor  # the block's first number
    level: tf.Tensor  # level of the block, minus `head`
    after: tf.Tensor  # statistic of the run from here to the half's end
    before: tf.Tensor  # statistic of the run from the half's start to here


def blocks(x: tf.Tensor, valid_counts: tf.Tensor, level: Level) -> tuple[tf.Tensor, tf.Tensor]:
    """The first and the last position [L, n] int32 of the block of each position of the sorted lists `x` [L, n].

    Positions from `valid_counts` [L, 1] on are blocks of their own. O(n) time where pooling ends soon for all lists,
    otherwise O(n log^2 n) in O(log^2 n) steps; O(n) memory; no gradient.
    """
    lists, size = tf.unstack(tf.shape(x))
    positions = tf.reshape(tf.broadcast_to(tf.range(size), [lists, size]), [-1])
    origin = tf.range(lists * size) - positions  # the start of its list, among the positions of all lists
    stop = origin + tf.reshape(tf.broadcast_to(valid_counts, [lists, size]), [-1])
    x = tf.reshape(tf.stop_gradient(x), [-1])
    zeros = tf.zeros_like(x)
    here = origin + positions

    def run(first: tf.Tensor, last: tf.Tensor, middle: tf.Tensor, solved: _Solved) -> tuple[tf.Tensor, tf.Tensor]:
        """The first number of the run from `first` to `last` that touches `middle`, and the run's level less that."""
        head = _at(x, first)
        sizes = (middle - first, last - middle + 1)
        left, right = _at(solved.after, first), _at(solved.before, last)
        statistic = level.join(level.apart(head, _at(x, middle)), left, right, sizes)
        statistic = tf.where(last < middle, left, tf.where(first >= middle, right, statistic))
        return head, statistic + level.of_positions(first - origin, last - origin)

    # Two halves of `half` positions are merged. Only one block, across the middle, can change. To decide whether a
    # block of the left half joins it, take the run that starts after the block and ends with the last block of the
    # right half whose level is not below the block's. The block joins exactly if the level of this run is not below its
    # own. The right half is the mirror image. The run leaves out the block itself, because a dominant block would hide
    # the others in a soft maximum. Each position decides by one binary search.
    def merge(half: tf.Tensor, *state: tf.Tensor) -> tuple[tf.Tensor, ...]:
        solved = _Solved(*state)
        is_left = tf.equal(positions // half % 2, 0)
        start = origin + positions // (2 * half) * (2 * half)
        middle = start + half

        higher = _leading_of_the_other_half(level, solved, is_left, tf.where(is_left, middle, start), stop, half)
        # A position of the left half uses the run after its block, one of the right half the run before its block.
        first = tf.where(is_left, solved.last + 1, start + higher)
        last = tf.where(is_left, middle + higher - 1, solved.first - 1)
        head, found = run(first, last, middle, solved)
        rise = level.rise((solved.head, head), (solved.level, found))
        joins = tf.where(is_left, (higher > 0) & (rise >= 0), (higher < half) & (here < stop) & (rise <= 0))

        joined = tf.concat([[0], tf.cumsum(tf.cast(joins, tf.int32))], axis=0)
        end = origin + size
        at_middle = tf.gather(joined, tf.minimum(middle, end))
        of_left = at_middle - tf.gather(joined, start)
        of_right = tf.gather(joined, tf.minimum(middle + half, end)) - at_middle
        first, last = middle - of_left, middle + of_right - 1
        inside = (of_left > 0) & (of_right > 0) & (first <= here) & (here <= last)
        head, found = run(first, last, middle, solved)

        x_middle = _at(x, middle)
        gap = level.apart(x, x_middle)
        after = level.join(gap, solved.after, _at(solved.after, middle), (middle - here, half + 0 * here))
        gap = level.apart(_at(x, start), x_middle)
        before = level.join(gap, _at(solved.before, middle - 1), solved.before, (half + 0 * here, here - middle + 1))
        return (
            2 * half,
            tf.where(inside, first, solved.first),
            tf.where(inside, last, solved.last),
            tf.where(inside, head, solved.head),
            tf.where(inside, found, solved.level),
            tf.where(is_left, after, solved.after),
            tf.where(is_left, solved.before, before),
        )

    found, is_solved = _pooled(x, origin, stop, level)
    first, last = (tf.where(is_solved, bound[0], here) for bound in found)
    alone = _Solved(first, last, x, level.of_positions(positions, positions), zeros, zeros)
    half = tf.where(is_solved, size, 1)
    _, first, last, *_ = tf.while_loop(lambda half, *_: half < size, merge, (half, *alone))
    shape = [lists, size]
    return tf.reshape(first - origin, shape), tf.reshape(last - origin, shape)


def _leading_of_the_other_half(  # noqa: PLR0917
    level: Level, solved: _Solved, is_left: tf.Tensor, other: tf.Tensor, stop: tf.Tensor, half: tf.Tensor
) -> tf.Tensor:
    """The number of positions from `other` on, in the other half, of a higher level (or equal, for the left half)."""

    def narrow(step: tf.Tensor, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        position = other + count + step - 1
        rise = level.rise((solved.head, _at(solved.head, position)), (solved.level, _at(solved.level, position)))
        higher = tf.where(is_left, tf.logical_and(rise >= 0, position < stop), rise > 0)
        return step // 2, tf.where(tf.logical_and(higher, count + step <= half), count + step, count)

    return tf.while_loop(lambda step, _: step > 0, narrow, (half, tf.zeros_like(other)))[1]


def _at(values: tf.Tensor, positions: tf.Tensor) -> tf.Tensor:
    """`values[positions]`, with positions past either end clipped; their results are not used."""
    return tf.gather(values, tf.clip_by_value(positions, 0, tf.maximum(tf.size(values) - 1, 0)))


def _pooled(x: tf.Tensor, origin: tf.Tensor, stop: tf.Tensor, level: Level) -> tuple[PooledBlocks, tf.Tensor]:
    """The blocks of the positions of all lists [N] after up to `ROUNDS` rounds, and whether they are the optimum.

    A round joins all neighbors whose levels do not fall. Most temperatures need a few rounds, and some would need
    thousands. `origin` is the first position of the list of each number `x`, and `stop` follows its last one that is
    joined.
    """
    positions = tf.range(tf.size(x))

    def below_next(blocks: PooledBlocks) -> tf.Tensor:
        """Whether each position ends a block whose level is not above the next block's."""
        head = take(x[tf.newaxis], blocks.first)
        rest = level.apart(head, x[tf.newaxis])
        levels = level.of_blocks(rest, blocks) + level.of_positions(blocks.first - origin, blocks.last - origin)
        # The last position has no next one, and is the last of its list.
        rise = level.rise(*((each, tf.roll(each, -1, axis=1)) for each in (head, levels)))
        return (tf.equal(positions, blocks.last) & (positions + 1 < stop) & (rise >= 0))[0]

    def join(number: tf.Tensor, joins: tf.Tensor, first: tf.Tensor, last: tf.Tensor) -> tuple[tf.Tensor, ...]:
        del last
        starts = tf.logical_and(tf.equal(positions[1:], first[0, 1:]), tf.logical_not(joins[:-1]))
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
