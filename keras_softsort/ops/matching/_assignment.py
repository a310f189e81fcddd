"""The exact assignment of a batch of masked matrices, by shortest augmenting paths (Jonker and Volgenant).

A search labels columns with their distances from a row without a column. A step of the loop scans one column of every
matrix, or flips one pair of the path that its search has found. So a matrix does not wait for the searches of others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops._core.lists import flatten_lists, take
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.matching._initial_pairs import Costs, Pairs, first_true, initial_pairs, unpaired_rows


@export
class MatchResult(NamedTuple):
    """The pairs of a matching of rows (targets) and columns (predictions)."""

    columns: tf.Tensor  # int32 [..., m]: the column of each row, 0 for a row without one
    row_matched: tf.Tensor  # bool [..., m]: whether a row has a column
    rows: tf.Tensor  # int32 [..., n]: the row of each column, 0 for a column without one
    column_matched: tf.Tensor  # bool [..., n]: whether a column has a row


@traced_if_eager
def assign(scores: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None) -> tf.Tensor:
    """Compute `linear_assignment` for checked arguments: the column [..., n] of each row, -1 for none."""
    shape = tf.shape(scores)[:-1]
    static_shape = scores.shape[:-1]
    scores = tf.cast(flatten_lists(tf.stop_gradient(scores), inner=2), tf.float64)
    valid = _valid_pairs(scores, row_mask, column_mask)
    size = tf.shape(scores)
    # The algorithm reduces over both axes, which TensorFlow refuses for an axis that is empty at run time.
    padding = [[0, 0], [0, tf.cast(size[1] < 1, tf.int32)], [0, tf.cast(size[2] < 1, tf.int32)]]
    valid = tf.pad(valid, padding)
    # The algorithm pairs every row, so the rows must be the shorter side.
    is_tall = size[1] > size[2]
    axes = tf.where(is_tall, [0, 2, 1], [0, 1, 2])
    cost = tf.transpose(tf.pad(-scores, padding), axes)
    pairs, complete = _solve(_costs(cost, tf.transpose(valid, axes)))
    lacking = tf.maximum(size[1] - tf.shape(pairs.column_of)[1], 0)
    columns = tf.pad(pairs.column_of, [[0, 0], [0, lacking]])[:, : size[1]]
    columns = tf.where(is_tall, pairs.row_of[:, : size[1]], columns)
    # A masked column that stands in for a missing one is no partner.
    is_pair = tf.gather(valid[:, : size[1]], tf.clip_by_value(columns, 0, tf.shape(valid)[2] - 1), batch_dims=2)
    is_pair = tf.logical_and(tf.logical_and(is_pair, columns >= 0), complete[:, tf.newaxis])
    return tf.ensure_shape(tf.reshape(tf.where(is_pair, columns, -1), shape), static_shape)


@traced_if_eager
def matched_pairs(cost: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None) -> MatchResult:
    """Compute `match` for checked arguments."""
    columns = assign(-cost, row_mask, column_mask)
    row_matched = columns >= 0
    row_numbers, column_numbers = tf.range(tf.shape(cost)[-2]), tf.range(tf.shape(cost)[-1])
    pairs = tf.equal(columns[..., tf.newaxis], column_numbers)  # [..., m, n], none in a row of -1
    # A column has one row at most, so the sum is the number of that row.
    rows = tf.reduce_sum(tf.where(pairs, row_numbers[:, tf.newaxis], 0), axis=-2)
    return MatchResult(tf.maximum(columns, 0), row_matched, rows, tf.reduce_any(pairs, axis=-2))


def _valid_pairs(scores: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None) -> tf.Tensor:
    """Mark the pairs [B, n, m] of valid rows and columns; none in a matrix where such a pair has NaN or +inf."""
    valid = tf.ones_like(scores, tf.bool)
    if row_mask is not None:
        valid = tf.logical_and(valid, flatten_lists(row_mask)[:, :, tf.newaxis])
    if column_mask is not None:
        valid = tf.logical_and(valid, flatten_lists(column_mask)[:, tf.newaxis, :])
    # Not logical_not(scores < inf): TensorFlow's graph optimizer rewrites it as scores >= inf, which is False for NaN.
    wrong = tf.logical_and(valid, tf.logical_or(tf.math.is_nan(scores), tf.equal(scores, math.inf)))
    return tf.logical_and(valid, tf.logical_not(tf.reduce_any(wrong, axis=[1, 2], keepdims=True)))


def _costs(cost: tf.Tensor, valid: tf.Tensor) -> Costs:
    """Return the costs of valid pairs. Masked columns of cost 0 stand in if there are too few valid ones."""
    rows, columns = tf.reduce_any(valid, axis=2), tf.reduce_any(valid, axis=1)
    lacking = tf.math.count_nonzero(rows, axis=1) - tf.math.count_nonzero(columns, axis=1)
    masked = tf.logical_not(columns)
    stands_in = tf.logical_and(masked, tf.cumsum(tf.cast(masked, tf.int64), axis=1) <= lacking[:, tf.newaxis])
    stands_in = tf.logical_and(rows[:, :, tf.newaxis], stands_in[:, tf.newaxis, :])
    others = tf.where(stands_in, tf.zeros_like(cost), tf.constant(math.inf, cost.dtype))
    return Costs(tf.where(valid, cost, others), rows, lacking < 0)


class Search(NamedTuple):
    """The search of each matrix for the free column that is nearest to a free row, or the path that it has found."""

    distance: tf.Tensor  # [B, s]: the distance of a column from the row, +inf if it is not reached
    is_scanned: tf.Tensor  # [B, s] bool
    before: tf.Tensor  # [B, s] int32: the row that a column was reached from
    active: tf.Tensor  # [B] bool: whether a search is under way
    end: tf.Tensor  # [B] int32: the column of the found path that is to be paired next, -1 without a path
    working: tf.Tensor  # [B] bool


def _solve(costs: Costs) -> tuple[Pairs, tf.Tensor]:
    """Return the pairs, and whether every row that counts has a column [B]."""
    pairs = initial_pairs(costs)
    inactive = tf.zeros_like(costs.spare)
    search = Search(
        distance=tf.fill(tf.shape(pairs.v), tf.constant(math.inf, pairs.v.dtype)),
        is_scanned=tf.zeros_like(pairs.v, tf.bool),
        before=tf.zeros_like(pairs.row_of),
        active=inactive,
        end=tf.where(inactive, 0, -1),
        working=tf.reduce_any(unpaired_rows(costs, pairs), axis=1),
    )
    pairs, _ = tf.while_loop(
        lambda _, search: tf.reduce_any(search.working),
        lambda pairs, search: _step(costs, pairs, search),
        (pairs, search),
        parallel_iterations=1,
    )
    return pairs, tf.logical_not(tf.reduce_any(unpaired_rows(costs, pairs), axis=1))


def _step(costs: Costs, pairs: Pairs, search: Search) -> tuple[Pairs, Search]:
    """End the searches that have found the nearest free column, flip a pair of each path, and scan the next column."""
    infinity = tf.constant(math.inf, costs.cost.dtype)
    distance, is_scanned, before, active, end, working = search
    free = pairs.row_of < 0
    ending = tf.where(free, distance, infinity)
    reach = tf.reduce_min(ending, axis=1, keepdims=True)
    open_to_scan = tf.where(tf.logical_or(free, is_scanned), infinity, distance)
    nearest = tf.reduce_min(open_to_scan, axis=1, keepdims=True)
    ended = tf.logical_and(active, reach[:, 0] <= nearest[:, 0])
    has_path = tf.logical_and(ended, tf.math.is_finite(reach[:, 0]))
    drop = tf.minimum(distance - reach, tf.zeros_like(reach))
    pairs = pairs._replace(v=pairs.v + tf.where(has_path[:, tf.newaxis], drop, tf.zeros_like(drop)))
    pairs, end = _flipped(pairs, before, tf.where(has_path, first_true(tf.equal(ending, reach)), end))

    # A matrix starts a search once its last path is flipped. It stops if a search has found no path.
    active = tf.logical_and(active, tf.logical_not(ended))
    unpaired = unpaired_rows(costs, pairs)
    starts = tf.logical_not(tf.logical_or(active, tf.not_equal(ended, has_path)))
    starts = tf.logical_and(tf.logical_and(starts, end < 0), tf.logical_and(working, tf.reduce_any(unpaired, axis=1)))
    start = starts[:, tf.newaxis]
    distance, is_scanned = tf.where(start, infinity, distance), tf.logical_and(is_scanned, tf.logical_not(start))

    # Scan the row of the nearest column. A search begins with its free row, at distance 0 and without a column.
    scans = tf.logical_and(active[:, tf.newaxis], nearest < infinity)
    column = tf.where(scans, first_true(tf.equal(open_to_scan, nearest))[:, tf.newaxis], 0)
    row = tf.where(start, first_true(unpaired)[:, tf.newaxis], tf.maximum(take(pairs.row_of, column), 0))
    reduced = take(costs.cost, row)[:, 0] - pairs.v
    # Not below 0, so that rounding never makes a cycle of columns that shorten each other.
    further = nearest + tf.maximum(reduced - take(reduced, column), tf.zeros_like(reach))
    lengths = tf.where(start, reduced, tf.where(scans, further, infinity))
    nearer = lengths < distance
    active = tf.logical_or(active, starts)
    at_column = tf.logical_and(scans, tf.equal(tf.range(tf.shape(pairs.v)[1]), column))
    return pairs, Search(
        distance=tf.where(nearer, lengths, distance),
        is_scanned=tf.logical_or(is_scanned, at_column),
        before=tf.where(nearer, row, before),
        active=active,
        end=end,
        working=tf.logical_or(active, end >= 0),
    )


def _flipped(pairs: Pairs, before: tf.Tensor, end: tf.Tensor) -> tuple[Pairs, tf.Tensor]:
    """Flip one pair of each path, from its end towards its first row, which had no column.

    The end becomes the column that the row had before, -1 at the first row.
    """
    flips = end >= 0
    row = take(before, tf.maximum(end, 0)[:, tf.newaxis])
    numbers = tf.range(tf.shape(pairs.column_of)[1])
    at_row = tf.logical_and(flips[:, tf.newaxis], tf.equal(numbers, row))
    at_end = tf.equal(tf.range(tf.shape(pairs.row_of)[1]), end[:, tf.newaxis])
    column_of = tf.where(at_row, end[:, tf.newaxis], pairs.column_of)
    next_end = tf.where(flips, take(pairs.column_of, row)[:, 0], -1)
    return Pairs(pairs.v, tf.where(at_end, row, pairs.row_of), column_of), next_end


def exact_matching(logits: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None) -> tf.Tensor:
    """The matrix [..., n, m] of the matching with the largest sum; NaN for logits that allow no complete matching."""
    columns = assign(logits, row_mask, column_mask)
    sizes = [
        tf.shape(logits)[axis] if mask is None else tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1)
        for axis, mask in ((-2, row_mask), (-1, column_mask))
    ]
    pairs = tf.reduce_sum(tf.cast(columns >= 0, tf.int32), axis=-1)
    complete = tf.equal(pairs, tf.minimum(*sizes))[..., tf.newaxis, tf.newaxis]
    exact = tf.one_hot(columns, tf.shape(logits)[-1], dtype=logits.dtype)
    return tf.where(complete, exact, tf.constant(math.nan, logits.dtype))
