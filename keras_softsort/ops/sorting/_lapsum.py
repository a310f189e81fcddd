"""LapSum: ranks and memberships by sums of Laplace distributions around the scores, in O(n log n).

Sums over all other items decay exponentially along the sorted list. They are computed in float64, or in float32 on a
TPU, so that scores far from 0 and low temperatures keep their precision.
"""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.core.decay_scan import laplace_sums
from keras_softsort.ops.core.order import take
from keras_softsort.ops.sorting._ordering import OrderedLists


def lapsum_ranks(lists: OrderedLists) -> tf.Tensor:
    """The rank `1/2 + sum_j F((s_j - s_i) / tau)` of valid items, with the Laplace distribution function F: [L, n].

    It is the middle rank of an item's ties, plus half the decaying sum over lower scores, minus that over higher ones.
    """
    positions, valid = _positions(lists)
    weights = tf.cast(valid, lists.scores.dtype)
    first, last = lists.ties()
    middle = 1 + tf.cast(first + last, weights.dtype) / 2
    return lists.of_valid(take(middle + _behind(positions, weights, first, last) / 2, lists.ranks))


def lapsum_membership(lists: OrderedLists, k: tf.Tensor) -> tf.Tensor:
    """`F((s_i - b) / tau)` with the threshold b for which they sum to k: [L, n]."""
    positions, valid = _positions(lists)
    counts = tf.cast(lists.valid_counts(), positions.dtype)
    # There is no threshold for k >= counts; its value is not used.
    reachable = tf.minimum(tf.cast(k, positions.dtype), tf.maximum(counts, 1) - 0.5)
    found = _threshold(tf.stop_gradient(positions), valid, reachable)
    distance = _attached(found, positions, valid) - positions
    below = distance < 0
    zeros = tf.zeros_like(distance)
    membership = tf.where(
        below, tf.exp(tf.where(below, distance, zeros)) / 2, 1 - tf.exp(-tf.where(below, zeros, distance)) / 2
    )
    return lists.completed_membership(membership, positions, k)


def _positions(lists: OrderedLists) -> tuple[tf.Tensor, tf.Tensor]:
    """Minus the sorted scores [L, n] in units of tau, relative to the middle valid one, and which ranks are valid."""
    return lists.positions((lists.valid_counts() - 1) // 2)


@tf.custom_gradient
def _near(positions: tf.Tensor, values: tf.Tensor, first: tf.Tensor, last: tf.Tensor) -> tuple:
    """`sum_j exp(-|p_j - p_i|) v_j` over all ranks, for rising positions p and values v, with ties `first` to `last`.

    The gradients of `_near` and `_behind` use each other, and copy their arguments for gradients of gradients.
    """
    positions, values, first, last = map(tf.identity, (positions, values, first, last))
    before, after = _from_both_sides(positions, values)

    def gradient(upstream: tf.Tensor) -> tuple:
        moved = upstream * _behind(positions, values, first, last) + values * _behind(positions, upstream, first, last)
        return tf.cast(moved, positions.dtype), _near(positions, upstream, first, last), None, None

    return before + after - values, gradient


@tf.custom_gradient
def _behind(positions: tf.Tensor, values: tf.Tensor, first: tf.Tensor, last: tf.Tensor) -> tuple:
    """`sum_j sign(p_j - p_i) exp(-|p_j - p_i|) v_j`, as `_near`."""
    positions, values, first, last = map(tf.identity, (positions, values, first, last))
    before, after = _from_both_sides(positions, values)

    def gradient(upstream: tf.Tensor) -> tuple:
        moved = upstream * _near(positions, values, first, last) - values * _near(positions, upstream, first, last)
        return tf.cast(moved, positions.dtype), -_behind(positions, upstream, first, last), None, None

    # Taken at the ends of the ties, so that they do not contribute and have equal results.
    return take(after, first) - take(before, last), gradient


def _from_both_sides(positions: tf.Tensor, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """`sum_j exp(-|p_j - p_i|) v_j` over j <= i, and over j >= i."""
    before, after = laplace_sums(positions, values[:, tf.newaxis])
    return before[:, 0], after[:, 0]


def _threshold(positions: tf.Tensor, valid: tf.Tensor, k: tf.Tensor) -> tf.Tensor:
    """The position [L, 1] at which `sum_i F(threshold - position_i)` over the valid ranks is `k` [L, 1].

    Between two neighbors that sum is `c + k - below / y + above y` in `y = exp(distance)`: a quadratic equation.
    """
    weights = tf.cast(valid, positions.dtype)
    size = tf.shape(positions)[1]
    before, after = _from_both_sides(positions, weights)
    at_ranks = tf.cast(tf.range(size), positions.dtype) + (1 + after - before) / 2
    reached = tf.logical_and(valid, at_ranks <= k)
    count = tf.reduce_sum(tf.cast(reached, tf.int32), axis=1, keepdims=True)
    total = tf.reduce_sum(tf.cast(valid, tf.int32), axis=1, keepdims=True)
    left, right = tf.maximum(count - 1, 0), tf.minimum(count, tf.maximum(total - 1, 0))
    # Each contains the 1 of its own rank, if any is valid.
    left_sum, right_sum = (tf.maximum(take(sums, rank), 1) for sums, rank in ((before, left), (after, right)))
    left_end, right_end = take(positions, left), take(positions, right)
    gap = right_end - left_end
    excess = tf.cast(count, positions.dtype) - k
    root = tf.sqrt(excess * excess + left_sum * right_sum * tf.exp(-gap))
    # The solution has two forms: use the one without cancellation or underflow.
    inside = tf.where(
        excess > 0,
        left_end - tf.math.log((root + excess) / left_sum),
        right_end + tf.math.log((root - excess) / right_sum),
    )
    inside = tf.where(tf.equal(excess, 0), left_end + (gap - tf.math.log(right_sum / left_sum)) / 2, inside)
    ahead = right_end + tf.math.log(2 * k / right_sum)
    beyond = left_end - tf.math.log(2 * (tf.cast(total, positions.dtype) - k) / left_sum)
    return tf.where(count < 1, ahead, tf.where(count < total, inside, beyond))


def _attached(threshold: tf.Tensor, positions: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
    """Give `threshold` the gradient with respect to `positions` for which the sum stays k.

    It is the mean of the movements of the positions, weighted by the densities. A softmax computes these weights,
    because all densities may underflow. Adding weights times 0 works in every mode, unlike a custom gradient.
    """
    moved = positions - tf.stop_gradient(positions)  # 0

    def weights(threshold: tf.Tensor) -> tf.Tensor:
        distance = tf.abs(threshold - positions)
        return tf.nn.softmax(tf.where(valid, -distance, tf.constant(distance.dtype.min, distance.dtype)))

    def add(weights: tf.Tensor) -> tf.Tensor:
        return threshold + tf.reduce_sum(weights * moved, axis=1, keepdims=True)

    threshold = tf.stop_gradient(threshold)
    first_order = add(tf.stop_gradient(weights(threshold)))
    slopes = weights(first_order)
    return add((slopes + tf.stop_gradient(slopes)) / 2)
