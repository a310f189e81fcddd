"""LapSum: ranks and memberships by sums of Laplace distributions around the scores.

Short lists take all pairs, in the dtype of the scores. Differences of scores keep their digits far from 0. In longer
lists, sums over all other items decay exponentially along the sorted list, and take O(n log n) time in float64.
"""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.core.decay_scan import laplace_sums
from keras_softsort.ops.core.order import take, valid_counts
from keras_softsort.ops.sorting._ordering import MAX_GAP, Lists, OrderedLists

# The largest size of lists that take all pairs on every target. LiteRT, which has no float64, converts no longer ones.
MAX_SIZE_OF_PAIRS = 64


def lapsum_ranks(lists: OrderedLists) -> tf.Tensor:
    """The rank `1/2 + sum_j F((s_j - s_i) / tau)` of valid items, with the Laplace distribution function F: [L, n].

    Along a sorted list it is the middle rank of an item's ties, plus half the decaying sum over lower scores, minus
    half that over higher ones.
    """
    if _by_pairs(lists):
        return lists.of_valid(_counts(lists) + 0.5)
    positions, valid = _positions(lists)
    weights = tf.cast(valid, lists.scores.dtype)
    first, last = lists.ties()
    middle = 1 + tf.cast(first + last, weights.dtype) / 2
    return lists.of_valid(take(middle + _behind(positions, weights, first, last) / 2, lists.ranks))


def lapsum_membership(lists: OrderedLists, k: tf.Tensor) -> tf.Tensor:
    """`F((s_i - b) / tau)` with the threshold b for which they sum to k: [L, n]."""
    by_pairs = _by_pairs(lists)
    positions, valid, threshold = _threshold_by_pairs(lists, k) if by_pairs else _threshold_by_order(lists, k)
    membership = _distribution(_attached(threshold, positions, valid) - positions)
    completed = lists.completed_membership(membership, positions, valid, k)
    return completed if by_pairs else take(completed, lists.ranks)


def _by_pairs(lists: Lists) -> bool:
    size = lists.scores.shape[1]
    return lists.compare_pairs() or (size is not None and size <= MAX_SIZE_OF_PAIRS)


def _distribution(distance: tf.Tensor) -> tf.Tensor:
    """F, the distribution function of the Laplace distribution."""
    is_below, zero = distance < 0, tf.zeros([], distance.dtype)
    below, above = tf.where(is_below, distance, zero), tf.where(is_below, zero, distance)
    return tf.where(is_below, tf.exp(below) / 2, 1 - tf.exp(-above) / 2)


def _reachable(lists: Lists, k: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Cut k [L, 1] to where a threshold exists: below the number of valid items. A cut k is not used."""
    return tf.minimum(tf.cast(k, dtype), tf.maximum(tf.cast(lists.valid_counts(), dtype), 1) - 0.5)


def _in_units(lists: Lists, differences: tf.Tensor) -> tf.Tensor:
    """`differences` of scores [L, n] or [L, n, n] in units of tau. Larger ones than `MAX_GAP` change no result."""
    tau = lists.tau if differences.shape.rank == 2 else lists.tau[:, :, tf.newaxis]
    largest = tf.stop_gradient(MAX_GAP[differences.dtype] * tau)
    return tf.clip_by_value(differences, -largest, largest) / tau


def _counts(lists: Lists) -> tf.Tensor:
    """`sum_j F((s_j - s_i) / tau)` over the valid items j: [L, n]."""
    shares = _distribution(_in_units(lists, lists.scores[:, tf.newaxis, :] - lists.scores[:, :, tf.newaxis]))
    if lists.mask is not None:
        shares = tf.where(lists.mask[:, tf.newaxis, :], shares, tf.zeros_like(shares))
    return tf.reduce_sum(shares, axis=2)


def _threshold_by_pairs(lists: OrderedLists, k: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The positions of the items [L, n] in units of tau, which of them are valid, and the threshold [L, 1].

    It lies between the last item whose sum of memberships is at most k and the next one. Positions are relative to one
    of them.
    """
    scores = lists.scores
    lowest = tf.constant(scores.dtype.min, scores.dtype)
    valid = tf.ones_like(scores, tf.bool) if lists.mask is None else lists.mask
    total, reachable = tf.cast(lists.valid_counts(), scores.dtype), _reachable(lists, k, scores.dtype)
    reached = tf.logical_and(valid, tf.stop_gradient(_counts(lists)) <= reachable)
    behind = tf.logical_and(valid, tf.logical_not(reached))
    count = tf.reduce_sum(tf.cast(reached, scores.dtype), axis=1, keepdims=True)
    held = tf.stop_gradient(scores)
    last = -tf.reduce_max(tf.where(reached, -held, lowest), axis=1, keepdims=True)
    following = tf.reduce_max(tf.where(behind, held, lowest), axis=1, keepdims=True)
    # If there is no item on one side, the other one's sum decides.
    last, following = tf.where(count > 0, last, following), tf.where(count < total, following, last)

    def decaying_sum(distances: tf.Tensor, counted: tf.Tensor) -> tf.Tensor:
        decays = tf.exp(tf.where(counted, _in_units(lists, distances), lowest))
        return tf.maximum(tf.reduce_sum(decays, axis=1, keepdims=True), 1)

    sums = decaying_sum(last - held, reached), decaying_sum(held - following, behind)
    from_last, offset = _between(sums, tf.stop_gradient(_in_units(lists, last - following)), count, total, reachable)
    return _in_units(lists, tf.where(from_last, last, following) - scores), valid, tf.stop_gradient(offset)


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


def _threshold_by_order(lists: OrderedLists, k: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The positions [L, n] of the sorted items, which of them are valid, and the threshold [L, 1]."""
    all_positions, valid = _positions(lists)
    positions, k = tf.stop_gradient(all_positions), _reachable(lists, k, all_positions.dtype)
    weights = tf.cast(valid, positions.dtype)
    size = tf.shape(positions)[1]
    before, after = _from_both_sides(positions, weights)
    at_ranks = tf.cast(tf.range(size), positions.dtype) + (1 + after - before) / 2
    reached = tf.logical_and(valid, at_ranks <= k)
    count = valid_counts(reached, keepdims=True)
    total = lists.valid_counts()
    left, right = tf.maximum(count - 1, 0), tf.minimum(count, tf.maximum(total - 1, 0))
    # A sum includes the 1 of its own rank. In lists without valid items the sums are 0, and become 1.
    left_sum, right_sum = (tf.maximum(take(sums, rank), 1) for sums, rank in ((before, left), (after, right)))
    left_end, right_end = take(positions, left), take(positions, right)
    count, total = (tf.cast(each, positions.dtype) for each in (count, total))
    from_left, offset = _between((left_sum, right_sum), right_end - left_end, count, total, k)
    return all_positions, valid, tf.where(from_left, left_end, right_end) + offset


def _between(
    sums: tuple[tf.Tensor, tf.Tensor], gap: tf.Tensor, count: tf.Tensor, total: tf.Tensor, k: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """The threshold between two neighboring items: whether it is relative to the left one, and its distance from it.

    `count` of `total` items are left of the threshold. `sums` are the decaying sums at the two neighbors, which are
    `gap` apart. At a distance d from the left neighbor the sum of memberships is
    `count - left_sum / (2 y) + right_sum exp(-gap) y / 2` with `y = exp(d)`. Setting it to k gives a quadratic
    equation, whose solution has two forms. The one without cancellation and underflow is taken.
    """
    (left_sum, right_sum), excess = sums, count - k
    root = tf.sqrt(excess * excess + left_sum * right_sum * tf.exp(-gap))
    inside = tf.where(excess > 0, -tf.math.log((root + excess) / left_sum), tf.math.log((root - excess) / right_sum))
    inside = tf.where(tf.equal(excess, 0), (gap - tf.math.log(right_sum / left_sum)) / 2, inside)
    ahead, beyond = tf.math.log(2 * k / right_sum), -tf.math.log(2 * (total - k) / left_sum)
    offset = tf.where(count < 1, ahead, tf.where(count < total, inside, beyond))
    return tf.logical_or(count >= total, tf.logical_and(count >= 1, excess >= 0)), offset


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
