"""The exact assignment of a batch of masked matrices, by shortest augmenting paths (Jonker and Volgenant).

Rounds of bids pair most rows, and a search pairs each of the others. Only the duals v of the columns are stored. The
reduced cost of a row and a column is `cost - v`, in float64 for a few rows at a time. Two statements always hold. A
pair has the smallest reduced cost of its row. In a matrix with more columns than rows, v is 0 at free columns. A step
scans one column of every matrix, or flips one pair of the path that its search has found.

Every row gets a column, and the pairs that may not be made are left out of the result.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort._internal.not_a_number import or_nan
from keras_softsort.ops.core.axes import flatten_lists
from keras_softsort.ops.core.order import take
from keras_softsort.ops.core.temperature import temperature_per_list
from keras_softsort.ops.core.tracing import traced_if_eager
from keras_softsort.ops.matching._assignment_costs import (
    MAX_COST,
    MIN_ROUNDS,
    NEVER,
    Costs,
    costs_of_pairs,
    has_no_answer,
    rows_of,
    valid_pairs,
)

# The number of rows that bid in a round, and the number of rounds, grow with the matrix.
ROWS_PER_BIDDER, MIN_BIDDERS, MAX_BIDDERS = 8, 4, 16
ROWS_PER_ROUND = 4


@export
class MatchResult(NamedTuple):
    """The pairs of a matching of rows (targets) and columns (predictions)."""

    columns: tf.Tensor  # int32 [..., m]: the column of each row, 0 for a row without one
    row_matched: tf.Tensor  # bool [..., m]: whether a row has a column
    rows: tf.Tensor  # int32 [..., n]: the row of each column, 0 for a column without one
    column_matched: tf.Tensor  # bool [..., n]: whether a column has a row


@traced_if_eager
def assign(
    scores: tf.Tensor,
    row_mask: tf.Tensor | None,
    column_mask: tf.Tensor | None,
    min_score: tf.Tensor | None = None,
) -> tf.Tensor:
    """Compute `linear_assignment` for checked arguments: the column [..., n] of each row, -1 for none."""
    shape = tf.shape(scores)[:-1]
    static_shape = scores.shape[:-1]
    limit = None if min_score is None else temperature_per_list(-tf.cast(min_score, tf.float64), scores, inner=2)
    scores, valid = (flatten_lists(each, inner=2) for each in (scores, valid_pairs(scores, row_mask, column_mask)))
    scores = tf.stop_gradient(scores)
    scores = scores if scores.dtype in MAX_COST else tf.cast(scores, tf.float32)
    valid &= scores >= scores.dtype.min if limit is None else tf.cast(scores, tf.float64) > -limit
    height, width = (scores.shape[axis] or tf.shape(scores)[axis] for axis in (1, 2))
    if not scores.shape[1:].is_fully_defined() or 0 in scores.shape[1:]:
        # The algorithm reduces over both axes, which TensorFlow refuses for an axis that is empty at run time.
        padding = [[0, 0], [0, tf.cast(height < 1, tf.int32)], [0, tf.cast(width < 1, tf.int32)]]
        scores, valid = tf.pad(scores, padding), tf.pad(valid, padding)
    # The algorithm pairs every row, so the rows must be the shorter side.
    is_tall = height > width
    cost, pairable = (_transposed_if(is_tall, each) for each in (-scores, valid))
    costs = costs_of_pairs(cost, pairable, limit)
    pairs = _completed(costs, _initial_pairs(costs))
    columns = pairs.column_of
    if is_tall is not False:
        lacking = tf.maximum(height - tf.shape(columns)[1], 0)
        columns = tf.where(is_tall, pairs.row_of[:, :height], tf.pad(columns, [[0, 0], [0, lacking]])[:, :height])
    # A column that stands in for a missing one is no partner.
    is_partner = tf.equal(columns[:, :height, tf.newaxis], tf.range(tf.shape(valid)[2])) & valid[:, :height]
    columns = tf.where(tf.reduce_any(is_partner, axis=2), columns[:, :height], -1)
    return tf.ensure_shape(tf.reshape(columns, shape), static_shape)


@traced_if_eager
def matched_pairs(
    cost: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None, min_score: tf.Tensor | None = None
) -> MatchResult:
    """Compute `match` for checked arguments, with the negative of the largest cost."""
    columns = assign(-cost, row_mask, column_mask, min_score)
    row_matched = columns >= 0
    row_numbers, column_numbers = tf.range(tf.shape(cost)[-2]), tf.range(tf.shape(cost)[-1])
    pairs = tf.equal(columns[..., tf.newaxis], column_numbers)  # [..., m, n], none in a row of -1
    # A column has one row at most, so the sum is the number of that row.
    rows = tf.reduce_sum(tf.where(pairs, row_numbers[:, tf.newaxis], 0), axis=-2)
    return MatchResult(tf.maximum(columns, 0), row_matched, rows, tf.reduce_any(pairs, axis=-2))


def _transposed_if(is_tall: bool | tf.Tensor, matrices: tf.Tensor) -> tf.Tensor:
    if isinstance(is_tall, bool):  # a converter needs to know the axes
        return tf.transpose(matrices, [0, 2, 1]) if is_tall else matrices
    return tf.transpose(matrices, tf.where(is_tall, [0, 2, 1], [0, 1, 2]))


class PartialMatching(NamedTuple):
    """The current pairs, and the duals of the columns."""

    v: tf.Tensor  # [B, s] float64
    row_of: tf.Tensor  # [B, s] int32, -1 for a free column
    column_of: tf.Tensor  # [B, k] int32, -1 for a free row


class Search(NamedTuple):
    """The search of each matrix for the free column that is nearest to a free row, or the path that it has found."""

    distance: tf.Tensor  # [B, s]: the distance of a column from the row, `NEVER` if it is not reached
    is_scanned: tf.Tensor  # [B, s] bool
    before: tf.Tensor  # [B, s] int32: the row that a column was reached from
    active: tf.Tensor  # [B] bool: whether a search is under way
    end: tf.Tensor  # [B] int32: the column of the found path that is to be paired next, -1 without a path
    working: tf.Tensor  # [B] bool


def _completed(costs: Costs, pairs: PartialMatching) -> PartialMatching:
    """Pair the other rows by searches. Every row that can be in a pair gets a column."""
    inactive = tf.zeros_like(costs.spare)
    search = Search(
        distance=tf.fill(tf.shape(pairs.v), tf.constant(NEVER, pairs.v.dtype)),
        is_scanned=tf.zeros_like(pairs.v, tf.bool),
        before=tf.zeros_like(pairs.row_of),
        active=inactive,
        end=tf.where(inactive, 0, -1),
        working=tf.reduce_any(_unpaired_rows(costs, pairs), axis=1),
    )
    pairs, _ = tf.while_loop(
        lambda _, search: tf.reduce_any(search.working),
        lambda pairs, search: _step(costs, pairs, search),
        (pairs, search),
        parallel_iterations=1,
    )
    return pairs


def _step(costs: Costs, pairs: PartialMatching, search: Search) -> tuple[PartialMatching, Search]:
    """End the searches that have found the nearest free column, flip a pair of each path, and scan the next column."""
    never = tf.constant(NEVER, tf.float64)
    distance, is_scanned, before, active, end, working = search
    free = pairs.row_of < 0
    ending = tf.where(free, distance, never)
    reach = tf.reduce_min(ending, axis=1, keepdims=True)
    open_to_scan = tf.where(free | is_scanned, never, distance)
    nearest = tf.reduce_min(open_to_scan, axis=1, keepdims=True)
    ended = active & (reach[:, 0] <= nearest[:, 0])
    drop = tf.minimum(distance - reach, tf.zeros_like(reach))
    pairs = pairs._replace(v=pairs.v + tf.where(ended[:, tf.newaxis], drop, tf.zeros_like(drop)))
    pairs, end = _flipped(pairs, before, tf.where(ended, _first_true(tf.equal(ending, reach)), end))

    # A matrix starts a search once its last path is flipped.
    active &= ~ended
    unpaired = _unpaired_rows(costs, pairs)
    starts = ~active & (end < 0) & working & tf.reduce_any(unpaired, axis=1)
    start = starts[:, tf.newaxis]
    distance, is_scanned = tf.where(start, never, distance), is_scanned & ~start

    # Scan the row of the nearest column. A search begins with its free row, at distance 0 and without a column.
    scans = active[:, tf.newaxis]
    column = tf.where(scans, _first_true(tf.equal(open_to_scan, nearest))[:, tf.newaxis], 0)
    row = tf.where(start, _first_true(unpaired)[:, tf.newaxis], tf.maximum(take(pairs.row_of, column), 0))
    reduced = rows_of(costs, row)[:, 0] - pairs.v
    # Not below 0, so that rounding never makes a cycle of columns that shorten each other.
    further = nearest + tf.maximum(reduced - take(reduced, column), tf.zeros_like(reach))
    lengths = tf.where(start, reduced, further)
    nearer = (start | scans) & (lengths < distance)
    active |= starts
    return pairs, Search(
        distance=tf.where(nearer, lengths, distance),
        is_scanned=is_scanned | (scans & tf.equal(tf.range(tf.shape(pairs.v)[1]), column)),
        before=tf.where(nearer, row, before),
        active=active,
        end=end,
        working=active | (end >= 0),
    )


def _flipped(pairs: PartialMatching, before: tf.Tensor, end: tf.Tensor) -> tuple[PartialMatching, tf.Tensor]:
    """Flip one pair of each path, from its end towards its first row, which had no column.

    The end becomes the column that the row had before, -1 at the first row.
    """
    flips = end >= 0
    row = take(before, tf.maximum(end, 0)[:, tf.newaxis])
    at_row = flips[:, tf.newaxis] & tf.equal(tf.range(tf.shape(pairs.column_of)[1]), row)
    at_end = tf.equal(tf.range(tf.shape(pairs.row_of)[1]), end[:, tf.newaxis])
    column_of = tf.where(at_row, end[:, tf.newaxis], pairs.column_of)
    next_end = tf.where(flips, take(pairs.column_of, row)[:, 0], -1)
    return PartialMatching(pairs.v, tf.where(at_end, row, pairs.row_of), column_of), next_end


def _initial_pairs(costs: Costs) -> PartialMatching:
    """Pair most rows by rounds of bids, which take less time than a search for each. The other rows need one."""
    batch, height, width = tf.unstack(tf.shape(costs.cost))
    least = tf.reduce_min(costs.cost, axis=1)
    # With more columns than rows, duals of free columns must be 0, and it is not known yet which columns stay free.
    none = costs.spare[:, tf.newaxis] | (least >= least.dtype.max)
    limit = costs.limit if costs.limit.shape.rank == 0 else costs.limit[:, 0]
    v = tf.where(none, tf.zeros([], tf.float64), tf.cast(least, tf.float64) - limit)
    nobody = PartialMatching(v, tf.fill([batch, width], -1), tf.fill([batch, height], -1))
    bidders = tf.clip_by_value(height // ROWS_PER_BIDDER, MIN_BIDDERS, MAX_BIDDERS)
    rounds = MIN_ROUNDS + height // ROWS_PER_ROUND
    _, _, pairs = tf.while_loop(
        lambda count, is_changed, _: (count < rounds) & is_changed,
        lambda count, _, pairs: (count + 1, *_bid(costs, pairs, bidders)),
        (0, tf.constant(True), nobody),
        parallel_iterations=1,
    )
    return pairs


def _bid(costs: Costs, pairs: PartialMatching, bidders: tf.Tensor) -> tuple[tf.Tensor, PartialMatching]:
    """Let up to `bidders` free rows of each matrix bid. Return whether the pairs changed, and the new pairs.

    A row bids for the column with its smallest reduced cost, and takes it from the row that has it. The dual of the
    column falls to where the row likes its second best column as much. This is the augmenting row reduction of Jonker
    and Volgenant, for several rows at once.
    """
    _, height, width = tf.unstack(tf.shape(costs.cost))
    numbers, row_numbers = tf.range(width), tf.range(height)
    waiting = tf.pad(
        tf.where(_unpaired_rows(costs, pairs), row_numbers, height),
        [[0, 0], [0, -height % bidders]],
        constant_values=height,
    )
    rows = tf.reduce_min(tf.reshape(waiting, [tf.shape(waiting)[0], -1, bidders]), axis=1)  # the height for none
    row = tf.minimum(rows, height - 1)
    reduced = rows_of(costs, row) - pairs.v[:, tf.newaxis, :]
    best = tf.reduce_min(reduced, axis=2)
    # Among equal reduced costs a row prefers free columns, and among these the first from its own number on. Otherwise
    # rows of equal costs would all bid for one column.
    turn = tf.math.floormod(numbers - row[:, :, tf.newaxis], width)
    turn += tf.where(pairs.row_of < 0, 0, width)[:, tf.newaxis, :]
    turn = tf.reduce_min(tf.where(tf.equal(reduced, best[:, :, tf.newaxis]), turn, 2 * width), axis=2)
    column = tf.math.floormod(turn + row, width)
    is_column = tf.equal(numbers, column[:, :, tf.newaxis])
    fall = tf.reduce_min(tf.where(is_column, tf.constant(NEVER, tf.float64), reduced), axis=2) - best
    # A row that can have at most one column is left to the search. So is a row that would take a column from another
    # one without changing a dual.
    can_choose = (fall < costs.bound[:, 0]) & (best < costs.bound[:, 0])
    bids = (rows < height) & can_choose & ((turn < width) | (fall > 0))

    # The first of the rows that bid for a column gets it, and the row that had it is free again.
    winner = tf.reduce_min(tf.where(is_column & bids[:, :, tf.newaxis], row[:, :, tf.newaxis], height), axis=1)
    wins = bids & tf.equal(take(winner, column), row)
    drop = tf.where(is_column & wins[:, :, tf.newaxis], fall[:, :, tf.newaxis], tf.zeros([], tf.float64))
    is_outbid = (pairs.column_of >= 0) & take(winner < height, tf.maximum(pairs.column_of, 0))
    is_winner = tf.equal(row[:, :, tf.newaxis], row_numbers) & wins[:, :, tf.newaxis]
    won = tf.reduce_max(tf.where(is_winner, column[:, :, tf.newaxis], -1), axis=1)
    return tf.reduce_any(wins), PartialMatching(
        v=pairs.v - tf.reduce_max(drop, axis=1),
        row_of=tf.where(winner < height, winner, pairs.row_of),
        column_of=tf.where(won >= 0, won, tf.where(is_outbid, -1, pairs.column_of)),
    )


def _unpaired_rows(costs: Costs, pairs: PartialMatching) -> tf.Tensor:
    """Mark the rows [B, k] that need a column and have none."""
    return costs.rows & (pairs.column_of < 0)


def _first_true(mask: tf.Tensor) -> tf.Tensor:
    """Return the first position of True along the last axis, the size of the axis if there is none."""
    size = tf.shape(mask)[-1]
    return tf.reduce_min(tf.where(mask, tf.range(size), size), axis=-1)


def exact_matching(logits: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None) -> tf.Tensor:
    """The matrix [..., n, m] of the matching with the largest sum; NaN for a valid NaN or +inf."""
    columns = assign(logits, row_mask, column_mask)
    # Not one_hot, which in onnxruntime counts -1 from the end.
    exact = tf.cast(tf.equal(columns[..., tf.newaxis], tf.range(tf.shape(logits)[-1])), logits.dtype)
    return or_nan(exact, has_no_answer(logits, row_mask, column_mask)[..., tf.newaxis, tf.newaxis])
