"""The pairs that the exact assignment starts with: column minima, and rounds in which free rows bid for columns.

Only the duals v of the columns are stored; the dual of a row is cost - v at its own pair. At all times cost - v of a
pair is the smallest of its row, and v is 0 at the free columns of a matrix with more columns than rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.lists import take

# The number of columns is a multiple of it. XLA reduces in two steps, over the middle axis first, in less time than
# over the last axis at once.
GROUPS = 4
# How many rows of a matrix bid in a round, and how many rounds there are: more for larger matrices. Chosen by the time
# that random matrices of 16 to 500 rows take under XLA.
ROWS_PER_BIDDER, FEWEST_BIDDERS, MOST_BIDDERS = 16, 4, 16
ROWS_PER_ROUND, FEWEST_ROUNDS = 4, 16


class Costs(NamedTuple):
    """Matrices whose rows must all be paired, k <= s, with a number of columns that is a multiple of `GROUPS`."""

    cost: tf.Tensor  # [B, k, s] float64, +inf where a pair is never made
    rows: tf.Tensor  # [B, k] bool: the rows that count
    spare: tf.Tensor  # [B] bool: whether there are more columns than rows that count


class Pairs(NamedTuple):
    """The current pairs, and the duals of the columns."""

    v: tf.Tensor  # [B, s] float64
    row_of: tf.Tensor  # [B, s] int32, -1 for a free column
    column_of: tf.Tensor  # [B, k] int32, -1 for a free row


class Bids(NamedTuple):
    """What some rows of each matrix bid in a round."""

    row: tf.Tensor  # [B, bidders] int32, a row even where there is no bidder
    column: tf.Tensor  # [B, bidders] int32: the nearest one
    fall: tf.Tensor  # [B, bidders]: how much farther the second nearest column is
    wins: tf.Tensor  # [B, bidders] bool


def initial_pairs(costs: Costs) -> Pairs:
    """Pairs of most rows; the others need a search.

    Free rows bid for their nearest column and take it from its row: the augmenting row reduction of Jonker and
    Volgenant, for several rows at once.
    """
    rounds = FEWEST_ROUNDS + tf.shape(costs.cost)[1] // ROWS_PER_ROUND

    def next_round(count: tf.Tensor, _: tf.Tensor, pairs: Pairs) -> tuple[tf.Tensor, tf.Tensor, Pairs]:
        bids = _bids(costs, pairs)
        return count + 1, tf.reduce_any(bids.wins), _after(bids, pairs)

    _, _, pairs = tf.while_loop(
        lambda count, is_changed, _: tf.logical_and(count < rounds, is_changed),
        next_round,
        (0, True, _first_pairs(costs)),
        parallel_iterations=1,
    )
    return pairs


def _first_pairs(costs: Costs) -> Pairs:
    """Duals from the smallest cost of each column, and pairs of smallest reduced cost if rows do not collide."""
    cost = costs.cost
    batch, height, width = tf.unstack(tf.shape(cost))
    least = tf.reduce_min(cost, axis=1)
    # With more columns than rows the free ones must keep the largest dual, which the column minima do not ensure.
    v = tf.where(tf.logical_or(costs.spare[:, tf.newaxis], tf.math.is_inf(least)), tf.zeros_like(least), least)
    reduced = cost - v[:, tf.newaxis, :]
    best = tf.reduce_min(reduced, axis=2, keepdims=True)
    row_numbers = tf.range(height)
    # Rows of equal scores start at different columns; otherwise all of them would choose the first.
    turn = tf.math.floormod(tf.range(width) - row_numbers[:, tf.newaxis], width)
    turn = tf.reduce_min(tf.where(tf.equal(reduced, best), turn, width), axis=2)
    asked = tf.math.floormod(turn + row_numbers, width)
    asks = tf.logical_and(costs.rows, tf.math.is_finite(best[:, :, 0]))
    first = tf.math.unsorted_segment_min(
        tf.where(asks, row_numbers, height), asked + width * tf.range(batch)[:, tf.newaxis], batch * width
    )
    row_of = tf.reshape(tf.where(first < height, first, -1), [batch, width])
    given = tf.logical_and(asks, tf.equal(take(row_of, asked), row_numbers))
    return Pairs(v, row_of, tf.where(given, asked, -1))


def _bids(costs: Costs, pairs: Pairs) -> Bids:
    """The bids of some free rows of each matrix for their nearest columns."""
    batch, height, width = tf.unstack(tf.shape(costs.cost))
    bidders = tf.clip_by_value(height // ROWS_PER_BIDDER, FEWEST_BIDDERS, MOST_BIDDERS)
    numbers, bidder_numbers = tf.range(width), tf.range(bidders)
    waiting = tf.pad(
        tf.where(unpaired_rows(costs, pairs), tf.range(height), height),
        [[0, 0], [0, -height % bidders]],
        constant_values=height,
    )
    rows = tf.reduce_min(tf.reshape(waiting, [batch, -1, bidders]), axis=1)  # [B, bidders], the height for none
    row = tf.minimum(rows, height - 1)
    reduced = take(costs.cost, row) - pairs.v[:, tf.newaxis, :]
    best = smallest(reduced)
    # Of columns that are equally near, a free one.
    preference = numbers + tf.where(pairs.row_of < 0, 0, width)
    preference = tf.where(tf.equal(reduced, best[:, :, tf.newaxis]), preference[:, tf.newaxis, :], 2 * width)
    preferred = smallest(preference)
    column = tf.minimum(tf.math.floormod(preferred, width), width - 1)
    is_column = tf.equal(numbers, column[:, :, tf.newaxis])
    fall = smallest(tf.where(is_column, tf.constant(math.inf, reduced.dtype), reduced)) - best
    # A row that can have one column only, or none, is left to the search. So is one that would only change places.
    counts = tf.logical_and(rows < height, tf.math.is_finite(fall))
    counts = tf.logical_and(counts, tf.logical_or(preferred < width, fall > 0))
    # Of those that want the same column, the first.
    rivals = tf.logical_and(tf.equal(column[:, :, tf.newaxis], column[:, tf.newaxis, :]), counts[:, tf.newaxis, :])
    is_earlier = bidder_numbers < bidder_numbers[:, tf.newaxis]
    wins = tf.logical_and(counts, tf.logical_not(tf.reduce_any(tf.logical_and(rivals, is_earlier), axis=2)))
    return Bids(row, column, fall, wins)


def _after(bids: Bids, pairs: Pairs) -> Pairs:
    """The pairs after a round. The dual of a column falls until the column is as far as the second nearest one."""
    numbers, row_numbers = tf.range(tf.shape(pairs.v)[1]), tf.range(tf.shape(pairs.column_of)[1])
    row, column, fall, wins = (each[:, :, tf.newaxis] for each in bids)
    is_won = tf.logical_and(tf.equal(numbers, column), wins)
    drop = tf.reduce_sum(tf.where(is_won, fall, tf.zeros_like(fall)), axis=1)
    new_row = tf.reduce_max(tf.where(is_won, row, -1), axis=1)
    outbid = tf.where(bids.wins, take(pairs.row_of, bids.column), -1)
    is_outbid = tf.reduce_any(tf.equal(row_numbers, outbid[:, :, tf.newaxis]), axis=1)
    new_column = tf.reduce_max(tf.where(tf.logical_and(tf.equal(row_numbers, row), wins), column, -1), axis=1)
    kept = tf.where(is_outbid, -1, pairs.column_of)
    return Pairs(
        v=pairs.v - drop,
        row_of=tf.where(new_row >= 0, new_row, pairs.row_of),
        column_of=tf.where(new_column >= 0, new_column, kept),
    )


def unpaired_rows(costs: Costs, pairs: Pairs) -> tf.Tensor:
    """The rows [B, k] that count and have no column."""
    return tf.logical_and(costs.rows, pairs.column_of < 0)


def grouped(values: tf.Tensor) -> tf.Tensor:
    """The columns [..., s] in groups, [..., s / GROUPS, GROUPS]."""
    return tf.reshape(values, tf.concat([tf.shape(values)[:-1], [tf.shape(values)[-1] // GROUPS, GROUPS]], axis=0))


def nearest_of_groups(values: tf.Tensor) -> tf.Tensor:
    """The smallest value of each group [..., GROUPS]."""
    return tf.reduce_min(grouped(values), axis=-2)


def smallest(values: tf.Tensor) -> tf.Tensor:
    """The smallest value of the columns [..., s]."""
    return tf.reduce_min(nearest_of_groups(values), axis=-1)
