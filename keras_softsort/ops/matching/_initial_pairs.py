"""The pairs that the exact assignment starts with, from column minima and from rounds of bids.

Only the duals v of the columns are stored. The reduced cost of a row and a column is `cost - v`. Two statements always
hold. A pair has the smallest reduced cost of its row. In a matrix with more columns than rows, v is 0 at free columns.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.lists import take

# The number of rows that bid in a round, and the number of rounds, grow with the matrix. Chosen by the time that random
# matrices of 16 to 500 rows take under XLA.
ROWS_PER_BIDDER, FEWEST_BIDDERS, MOST_BIDDERS = 16, 4, 16
ROWS_PER_ROUND, FEWEST_ROUNDS = 4, 16


class Costs(NamedTuple):
    """Matrices of k <= s rows, all of which get a column unless they are masked."""

    cost: tf.Tensor  # [B, k, s] float64, +inf for pairs that are never made
    rows: tf.Tensor  # [B, k] bool, False for masked rows
    spare: tf.Tensor  # [B] bool: whether there are more columns than unmasked rows


class Pairs(NamedTuple):
    """The current pairs, and the duals of the columns."""

    v: tf.Tensor  # [B, s] float64
    row_of: tf.Tensor  # [B, s] int32, -1 for a free column
    column_of: tf.Tensor  # [B, k] int32, -1 for a free row


class Bids(NamedTuple):
    """The bids of a round. Matrices with fewer free rows than bidders have bids that do not win."""

    row: tf.Tensor  # [B, bidders] int32
    column: tf.Tensor  # [B, bidders] int32: the column with the smallest reduced cost
    fall: tf.Tensor  # [B, bidders]: the second smallest reduced cost minus the smallest
    wins: tf.Tensor  # [B, bidders] bool


def initial_pairs(costs: Costs) -> Pairs:
    """Pair most rows. The other rows need a search.

    A free row bids for the column with its smallest reduced cost, and takes it from the row that has it. This is the
    augmenting row reduction of Jonker and Volgenant, for several rows at once. With column minima alone an assignment
    takes 1.6 to 1.8 times as long for matrices of 100 rows.
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
    """Return the column minima as duals, and for each row the pair of smallest reduced cost, if no other row has it."""
    cost = costs.cost
    batch, height, width = tf.unstack(tf.shape(cost))
    least = tf.reduce_min(cost, axis=1)
    # With more columns than rows, duals of free columns must be 0, and it is not known yet which columns stay free.
    v = tf.where(tf.logical_or(costs.spare[:, tf.newaxis], tf.math.is_inf(least)), tf.zeros_like(least), least)
    reduced = cost - v[:, tf.newaxis, :]
    best = tf.reduce_min(reduced, axis=2, keepdims=True)
    row_numbers = tf.range(height)
    # Of equal costs, row i chooses the first from column i on. Otherwise rows of equal costs would all choose column 0.
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
    """Return the bids of some free rows of each matrix."""
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
    best = tf.reduce_min(reduced, axis=2)
    # Of equal reduced costs, that of a free column.
    preference = numbers + tf.where(pairs.row_of < 0, 0, width)
    preference = tf.where(tf.equal(reduced, best[:, :, tf.newaxis]), preference[:, tf.newaxis, :], 2 * width)
    preferred = tf.reduce_min(preference, axis=2)
    column = tf.minimum(tf.math.floormod(preferred, width), width - 1)
    is_column = tf.equal(numbers, column[:, :, tf.newaxis])
    fall = tf.reduce_min(tf.where(is_column, tf.constant(math.inf, reduced.dtype), reduced), axis=2) - best
    # A row that can have at most one column is left to the search. So is a row that would take a column from another
    # one without changing a dual.
    counts = tf.logical_and(rows < height, tf.math.is_finite(fall))
    counts = tf.logical_and(counts, tf.logical_or(preferred < width, fall > 0))
    # The first of the rows that bid for a column gets it.
    rivals = tf.logical_and(tf.equal(column[:, :, tf.newaxis], column[:, tf.newaxis, :]), counts[:, tf.newaxis, :])
    is_earlier = bidder_numbers < bidder_numbers[:, tf.newaxis]
    wins = tf.logical_and(counts, tf.logical_not(tf.reduce_any(tf.logical_and(rivals, is_earlier), axis=2)))
    return Bids(row, column, fall, wins)


def _after(bids: Bids, pairs: Pairs) -> Pairs:
    """Return the pairs after a round. The dual of a column falls by the `fall` of the bid that wins it."""
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
    """Mark the rows [B, k] that need a column and have none."""
    return tf.logical_and(costs.rows, pairs.column_of < 0)


def first_true(mask: tf.Tensor) -> tf.Tensor:
    """Return the first position of True along the last axis, the size of the axis if there is none."""
    size = tf.shape(mask)[-1]
    return tf.reduce_min(tf.where(mask, tf.range(size), size), axis=-1)
