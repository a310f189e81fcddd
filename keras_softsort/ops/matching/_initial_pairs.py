"""The pairs that the exact assignment starts with, from rounds of bids.

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


def initial_pairs(costs: Costs) -> Pairs:
    """Pair most rows, by rounds of bids. The other rows need a search.

    All free rows bid in the first round, and some of them in each later one. Without later rounds an assignment takes
    1.3 to 1.7 times as long for random matrices of 100 to 300 rows.
    """
    cost = costs.cost
    batch, height, width = tf.unstack(tf.shape(cost))
    least = tf.reduce_min(cost, axis=1)
    # With more columns than rows, duals of free columns must be 0, and it is not known yet which columns stay free.
    v = tf.where(tf.logical_or(costs.spare[:, tf.newaxis], tf.math.is_inf(least)), tf.zeros_like(least), least)
    nobody = Pairs(v, tf.fill([batch, width], -1), tf.fill([batch, height], -1))
    bidders = tf.clip_by_value(height // ROWS_PER_BIDDER, FEWEST_BIDDERS, MOST_BIDDERS)
    rounds = FEWEST_ROUNDS + height // ROWS_PER_ROUND
    _, _, pairs = tf.while_loop(
        lambda count, is_changed, _: tf.logical_and(count < rounds, is_changed),
        lambda count, _, pairs: (count + 1, *_bid(costs, pairs, bidders)),
        (0, *_bid(costs, nobody, height)),
        parallel_iterations=1,
    )
    return pairs


def _bid(costs: Costs, pairs: Pairs, bidders: tf.Tensor) -> tuple[tf.Tensor, Pairs]:
    """Let up to `bidders` free rows of each matrix bid. Return whether the pairs changed, and the new pairs.

    A row bids for the column with its smallest reduced cost, and takes it from the row that has it. The dual of the
    column falls to where the row likes its second best column as much. This is the augmenting row reduction of Jonker
    and Volgenant, for several rows at once.
    """
    batch, height, width = tf.unstack(tf.shape(costs.cost))
    matrix, numbers = tf.range(batch)[:, tf.newaxis], tf.range(width)
    waiting = tf.pad(
        tf.where(unpaired_rows(costs, pairs), tf.range(height), height),
        [[0, 0], [0, -height % bidders]],
        constant_values=height,
    )
    rows = tf.reduce_min(tf.reshape(waiting, [batch, -1, bidders]), axis=1)  # [B, bidders], the height for none
    row = tf.minimum(rows, height - 1)
    reduced = take(costs.cost, row) - pairs.v[:, tf.newaxis, :]
    best = tf.reduce_min(reduced, axis=2)
    # Of equal reduced costs, a row prefers a free column, and of these the first from its own number on. Otherwise rows
    # of equal costs would all bid for one column.
    turn = tf.math.floormod(numbers - row[:, :, tf.newaxis], width)
    turn += tf.where(pairs.row_of < 0, 0, width)[:, tf.newaxis, :]
    turn = tf.reduce_min(tf.where(tf.equal(reduced, best[:, :, tf.newaxis]), turn, 2 * width), axis=2)
    column = tf.math.floormod(turn + row, width)
    is_column = tf.equal(numbers, column[:, :, tf.newaxis])
    fall = tf.reduce_min(tf.where(is_column, tf.constant(math.inf, reduced.dtype), reduced), axis=2) - best
    # A row that can have at most one column is left to the search. So is a row that would take a column from another
    # one without changing a dual.
    counts = tf.logical_and(rows < height, tf.math.is_finite(fall))
    counts = tf.logical_and(counts, tf.logical_or(turn < width, fall > 0))

    # The first of the rows that bid for a column gets it, and the row that had it is free again.
    winner = tf.math.unsorted_segment_min(tf.where(counts, row, height), column + width * matrix, batch * width)
    winner = tf.reshape(winner, [batch, width])
    wins = tf.logical_and(counts, tf.equal(take(winner, column), row))
    drop = tf.where(wins, fall, tf.zeros_like(fall))
    drop = tf.math.unsorted_segment_sum(drop, column + width * matrix, batch * width)
    is_outbid = tf.logical_and(pairs.column_of >= 0, take(winner < height, tf.maximum(pairs.column_of, 0)))
    won = tf.math.unsorted_segment_max(tf.where(wins, column, -1), row + height * matrix, batch * height)
    won = tf.reshape(won, [batch, height])
    return tf.reduce_any(wins), Pairs(
        v=pairs.v - tf.reshape(drop, [batch, width]),
        row_of=tf.where(winner < height, winner, pairs.row_of),
        column_of=tf.where(won >= 0, won, tf.where(is_outbid, -1, pairs.column_of)),
    )


def unpaired_rows(costs: Costs, pairs: Pairs) -> tf.Tensor:
    """Mark the rows [B, k] that need a column and have none."""
    return tf.logical_and(costs.rows, pairs.column_of < 0)


def first_true(mask: tf.Tensor) -> tf.Tensor:
    """Return the first position of True along the last axis, the size of the axis if there is none."""
    size = tf.shape(mask)[-1]
    return tf.reduce_min(tf.where(mask, tf.range(size), size), axis=-1)
