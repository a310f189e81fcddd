"""Items of a list that are chosen one after another, each with a probability proportional to exp(score).

Each rank of an order is the choice of an item i from the alternatives j that are left, with i among them. The cost of a
choice is minus the logarithm of its probability: `logsumexp_j a_j - a_i` for the scores a.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_softsort._internal.not_a_number import at_least_or_nan
from keras_softsort.ops.core.axes import is_at_most, list_size
from keras_softsort.ops.core.logsumexp import in_float64, is_excluded, scaled_sums, suffix_sums
from keras_softsort.ops.core.order import descending, group_sums, inverse, take, tie_sums, tied_ranks
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.core.tracing import compares_pairs, on_device

# Up to this many items, running sums of float32 lose no digits that matter. Longer lists are summed in float64.
MAX_FLOAT32_SIZE = 1000
# Scores within this of the largest of their list: exponentials relative to it are in range, and a sum of 1e8 of
# them divided by one of them does not overflow.
SAFE_RANGE = {tf.float32: 70.0, tf.float64: 600.0}
# The distance of the levels of scores. Exponentials of a half of it, and of it, are in range.
LEVEL_DISTANCE = {tf.float32: 64.0, tf.float64: 512.0}


def choices_of(keys: tf.Tensor, ties: str) -> Ordered | Compared:
    """The choices of items in descending order of their `keys` [B, n].

    An item is chosen from those with lower keys and itself. Items with equal keys are chosen from each other
    ("breslow"), one after another in the order of the list ("first"), or each without the others ("never").
    """
    if compares_pairs(keys.shape[1]):
        return Compared(keys, ties)
    ordered, order = descending(keys)
    tied = None if ties == "first" else tuple(map(on_device, tied_ranks(ordered)))
    return Ordered(on_device(order), ties, tied)


def choices_in(order: tf.Tensor, size: int | tf.Tensor) -> Ordered:
    """The choices of the items in `order` [B, k], each at most once, and then of the remaining ones of `size` items."""
    if order.shape[1] is not None and order.shape[1] == tf.get_static_value(size):
        return Ordered(on_device(order), "first", None)
    ranks = on_device(inverse(order, size))
    count = tf.cast(list_size(order), ranks.dtype)
    is_missing = ranks >= count
    ranks = tf.where(is_missing, count - 1 + tf.cumsum(tf.cast(is_missing, ranks.dtype), axis=1), ranks)
    return Ordered(on_device(inverse(ranks)), "first", None)


def choice_costs(choices: Ordered | Compared, scores: tf.Tensor, weights: tf.Tensor | None = None) -> tf.Tensor:
    """Compute `sum_i w_i (logsumexp_j a_j - a_i)` over the choices i, with the alternatives j of each: [B].

    The scores a [B, n] of items may be `excluded`, or -inf. The weights w [B, n] of choices are `arranged`. A choice of
    weight 0 costs 0, and so does one all of whose alternatives are excluded.
    """

    @tf.custom_gradient
    def costs(scores: tf.Tensor, weights: tf.Tensor) -> tuple:
        arranged = choices.arranged(scores)
        counted = tf.cast(weights, arranged.dtype)
        # Large weights over small exponentials would overflow.
        largest = tf.stop_gradient(tf.maximum(tf.reduce_max(tf.abs(counted), axis=1, keepdims=True), 0))
        each, slopes = choices.costs_and_slopes(arranged, tf.math.divide_no_nan(counted, largest))
        total = tf.reduce_sum(tf.math.multiply_no_nan(each, counted), axis=1)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            upstream = upstream[:, tf.newaxis]
            of_weights = tf.math.multiply_no_nan(each, tf.cast(upstream, each.dtype))
            of_scores = tf.cast(choices.restored(slopes * largest), scores.dtype)
            return of_scores * upstream, tf.cast(of_weights, weights.dtype)

        return tf.cast(total, scores.dtype), gradient

    return costs(scores, tf.ones_like(scores) if weights is None else weights)


def choice_derivatives(
    choices: Ordered | Compared, scores: tf.Tensor, weights: tf.Tensor | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
    """The gradient [B, n] of `choice_costs` and the diagonal of its hessian, for weights of at least 0.

    With the probability p_ki of the alternative i in the choice k they are `sum_k w_k p_ki - w_i` and
    `sum_k w_k p_ki (1 - p_ki)`. The squares p_ki^2 are the probabilities for scores twice as large, times
    `q_k = sum_i p_ki^2`.
    """
    dtype, scores = scores.dtype, in_float64(choices.arranged(scores))
    weights = tf.ones_like(scores) if weights is None else tf.cast(weights, tf.float64)
    costs, slopes = choices.costs_and_slopes(scores, weights)
    doubled, _ = choices.costs_and_slopes(2 * scores, weights)
    # An item that cannot be chosen has an infinite cost.
    q = tf.where(tf.math.is_finite(costs), tf.exp(tf.minimum(doubled - 2 * costs, 0)), tf.zeros_like(costs))
    weights_of_squares = weights * q
    _, slopes_of_squares = choices.costs_and_slopes(2 * scores, weights_of_squares)
    curvatures = (slopes + weights) - (slopes_of_squares + weights_of_squares)
    return tf.cast(choices.restored(slopes), dtype), tf.cast(choices.restored(curvatures), dtype)


class Ordered(NamedTuple):
    """Choices by a sort: sums over the alternatives are running sums, in O(n)."""

    order: tf.Tensor  # the item of each rank, [B, n]
    ties: str  # as in `choices_of`
    # The first and the last rank of the items that are tied with that of each rank. None if they are chosen in turn.
    tied: tuple[tf.Tensor, tf.Tensor] | None

    def arranged(self, values: tf.Tensor) -> tf.Tensor:
        """The `values` [B, n] of items in the order of the choices, in the dtype in which they are summed."""
        return self._summable(take(values, self.order))

    def restored(self, values: tf.Tensor) -> tf.Tensor:
        """The `arranged` values in the order of the list."""
        return group_sums(values, self.order, list_size(values))

    def at_ranks(self, rank_weights: tf.Tensor) -> tf.Tensor:
        """The weight of the rank of each choice, the mean of those of tied items: [B, n]."""
        rank_weights = self._summable(tf.broadcast_to(rank_weights, tf.shape(self.order)))
        if self.tied is None:
            return rank_weights
        first, last = self.tied
        return tie_sums(rank_weights, first) / tf.cast(last - first + 1, rank_weights.dtype)

    def others(self, terms: tf.Tensor) -> tf.Tensor:
        """Sum the terms [B, n], at least 0, over the alternatives of each choice but the chosen item."""
        after = tf.cumsum(terms, axis=1, exclusive=True, reverse=True)
        if self.tied is None:
            return after
        first, last = self.tied
        if self.ties == "never":
            return take(after, last)
        left = after + terms
        return after + (take(left, first) - left)  # plus the tied items that stand before the chosen one

    def choosing(self, values: tf.Tensor) -> tf.Tensor:
        """Sum the values [B, n] of the choices that have each item among their alternatives."""
        sums = tf.cumsum(values, axis=1)
        if self.tied is None:
            return sums
        first, last = self.tied
        return take(sums, last) if self.ties == "breslow" else values + take(sums - values, first)

    def _summable(self, values: tf.Tensor) -> tf.Tensor:
        return values if is_at_most(self.order.shape[1], MAX_FLOAT32_SIZE) else in_float64(values)

    def costs_and_slopes(self, scores: tf.Tensor, *weights: tf.Tensor) -> list[tf.Tensor]:
        """The costs [B, n], and for each of the `weights` [B, n] the gradient of their weighted sum."""
        # The largest score may be -inf, from which -inf cannot be subtracted.
        peak = tf.stop_gradient(tf.maximum(tf.reduce_max(scores, axis=1, keepdims=True), scores.dtype.min / 8))
        below = scores - peak
        # NaN counts as in range: sums of exponentials keep it within its list.
        is_far = tf.logical_and(below < -SAFE_RANGE[scores.dtype], scores > scores.dtype.min / 8)
        forms = Ordered._of_any_range, Ordered._in_range
        return _either(tf.reduce_any(is_far), self, *forms)(scores, below, *weights)

    def _in_range(self, scores: tf.Tensor, below: tf.Tensor, *weights: tf.Tensor) -> list[tf.Tensor]:
        """The costs and slopes in linear time, for scores within `SAFE_RANGE` of the largest of their list."""
        terms = tf.exp(below)
        others = self.others(terms)
        left = others + terms
        is_left = tf.sign(left)  # 0 where no item is left; the quotient is then 0 / 1
        # log(left / term) would lose the digits of small costs.
        costs = tf.math.log1p(others / (terms + (1 - is_left)))
        return [costs, *(terms * self.choosing(tf.math.divide_no_nan(w, left)) - w * is_left for w in weights)]

    def _of_any_range(self, scores: tf.Tensor, below: tf.Tensor, *weights: tf.Tensor) -> list[tf.Tensor]:
        """The costs and slopes in O(n^1.5) time and memory."""
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(scores)
            if self.ties == "never" and self.tied is not None:
                # The item itself and those after its tied ones, if there are any.
                padded = tf.pad(scores, [[0, 0], [0, 1]], constant_values=scores.dtype.min / 4)
                later, rest = (take(part, self.tied[1] + 1) for part in suffix_sums(padded))
                peaks, totals = scaled_sums(tf.stack([scores, later], -1), tf.stack([tf.ones_like(rest), rest], -1))
            else:
                peaks, totals = suffix_sums(scores)
                if self.tied is not None:
                    peaks, totals = take(peaks, self.tied[0]), take(totals, self.tied[0])
            none_left = tf.equal(totals, 0)
            logs = tf.math.log(tf.where(none_left, tf.ones_like(totals), totals))
        # The difference from the largest alternative is exact, and the logarithm of the total is small.
        costs = tf.where(none_left, tf.zeros_like(logs), (peaks - scores) + logs)
        counted = [tf.where(none_left, tf.zeros_like(w), w) for w in weights]
        # Costs depend on the peaks, too, which have no gradient here: the shares of the alternatives are all of it.
        return [costs, *(tape.gradient(logs, scores, w) - w for w in counted)]


def _either(condition: tf.Tensor, choices: Ordered, if_true: Callable, if_false: Callable) -> Callable:
    """One of two functions of choices and tensors, with a derivative that is again one of two functions.

    XLA compiles no gradient of a condition that gathers.
    """

    @tf.custom_gradient
    def run(*given: tf.Tensor) -> tuple:
        def gradient(*upstream: tf.Tensor) -> list[tf.Tensor]:
            def slopes(function: Callable, choices: Ordered, *both: tf.Tensor) -> list[tf.Tensor]:
                given, upstream = both[: len(both) - len(results)], both[len(both) - len(results) :]
                with tf.GradientTape() as tape:
                    tape.watch(given)
                    outputs = function(choices, *given)
                return tape.gradient(outputs, given, list(upstream), unconnected_gradients="zero")

            branches = (functools.partial(slopes, function) for function in (if_true, if_false))
            # Copies in the graph of this derivative: eager calls have no second derivatives for tensors of others.
            is_true, *here = map(tf.identity, (condition, *given))
            tied = choices.tied and tuple(map(tf.identity, choices.tied))
            return _either(is_true, choices._replace(tied=tied), *branches)(*here, *upstream)

        results = tf.cond(condition, *(functools.partial(each, choices, *given) for each in (if_true, if_false)))
        return results, gradient

    return run


class Compared(NamedTuple):
    """Choices by comparing all pairs of items, in the order of the list and for scores of any range.

    Exponentials are relative to a level of each score, a multiple of `LEVEL_DISTANCE`, so that none is computed for a
    pair. Alternatives more than one level below the highest one add nothing to a sum.
    """

    keys: tf.Tensor  # [B, n]
    ties: str  # as in `choices_of`

    def arranged(self, values: tf.Tensor) -> tf.Tensor:
        """The `values` [B, n] of items: choices are in the order of the list."""
        return values

    def restored(self, values: tf.Tensor) -> tf.Tensor:
        """The `arranged` values in the order of the list."""
        return values

    def at_ranks(self, rank_weights: tf.Tensor) -> tf.Tensor:
        """The weight of the rank of each choice, the mean of those of tied items: [B, n]."""
        size = self.keys.shape[1]
        before, after = (tf.reduce_sum(tf.cast(self._is_other(axis), tf.int32), 2, keepdims=True) for axis in (2, 1))
        # Items that are tied with it count as before and as after an item.
        first, last, ranks = size - 1 - after, before, tf.range(size)
        is_own = tf.logical_and(ranks >= first, ranks <= last)
        sums = tf.where(is_own, tf.expand_dims(rank_weights, -2), tf.zeros([], rank_weights.dtype))
        return tf.reduce_sum(sums, axis=2) / tf.cast(last - first + 1, sums.dtype)[..., 0]

    def costs_and_slopes(self, scores: tf.Tensor, *weights: tf.Tensor) -> list[tf.Tensor]:
        """The costs [B, n], and for each of the `weights` [B, n] the gradient of their weighted sum."""
        distance = LEVEL_DISTANCE[scores.dtype]
        can_be_chosen, lowest = at_least_or_nan(scores, scores.dtype.min / 8), excluded(scores.dtype)
        scores = tf.where(can_be_chosen, scores, lowest)
        levels = tf.stop_gradient(tf.round(scores / distance))
        highest = tf.stop_gradient(self._highest(levels))
        # Exponentials relative to the level of an item, and its own one relative to that of the sum.
        terms = tf.exp(scores - distance * levels)
        own = terms * _exponential_of_levels(highest - levels, distance)

        def sums(numbers: tf.Tensor, axis: int) -> tf.Tensor:
            """Sum `numbers` [B, n] over the alternatives of a choice, or with `axis` 2 over the choices of an item."""
            below = tf.expand_dims(highest, 3 - axis) - tf.expand_dims(levels, axis)
            return self._sums(tf.expand_dims(numbers, 1) * _exponential_of_levels(below, distance), axis)

        others = sums(terms, axis=1)
        left = others + own
        # If an item is more likely than all others together, log(1 + ...) keeps the digits of its small cost.
        largest = tf.maximum(others, own)
        far = tf.where(others > own, tf.math.log(largest) - (scores - distance * highest), 0)
        costs = tf.math.log1p(tf.minimum(others, own) / largest) + far
        # Infinite for an item that cannot be chosen, if another one is left.
        refused = 1 / tf.cast(tf.logical_or(can_be_chosen, is_excluded(distance * highest)), costs.dtype) - 1
        shares = [tf.where(can_be_chosen, w, 0) / left for w in weights]
        # Along the last axis: a GPU would store a matrix, or its sums along another axis.
        slopes = (terms * sums(each, axis=2) - each * others for each in shares)
        return [tf.where(can_be_chosen, costs, refused), *slopes]

    def _is_other(self, axis: int) -> tf.Tensor:
        """Whether an item is an alternative of another, chosen one: [B, n, n], with the chosen items along `axis`."""
        (chosen, item), (place, other) = (
            (tf.expand_dims(each, 3 - axis), tf.expand_dims(each, axis))
            for each in (self.keys, tf.range(self.keys.shape[1])[tf.newaxis])
        )
        if self.ties == "never":
            return item < chosen
        if self.ties == "first":
            return tf.where(other > place, item <= chosen, item < chosen)
        return tf.logical_and(item <= chosen, tf.not_equal(other, place))

    def _sums(self, terms: tf.Tensor, axis: int) -> tf.Tensor:
        """Sum the `terms` [B, n, n] of pairs over the last axis, where `_is_other`."""
        return tf.reduce_sum(tf.where(self._is_other(axis), terms, tf.zeros([], terms.dtype)), axis=2)

    def _highest(self, levels: tf.Tensor) -> tf.Tensor:
        """The highest of the `levels` [B, n] of a chosen item and of its alternatives: [B, n]."""
        return tf.reduce_max(tf.where(self._is_other(1), levels[:, tf.newaxis], levels[..., tf.newaxis]), axis=2)


def _exponential_of_levels(below: tf.Tensor, distance: float) -> tf.Tensor:
    """`exp(-distance * below)` for 0 or 1 level below, and 0 for more."""
    return tf.cast(tf.equal(below, 0), below.dtype) + math.exp(-distance) * tf.cast(tf.equal(below, 1), below.dtype)
