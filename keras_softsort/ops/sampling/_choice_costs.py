"""What it costs to choose items one after another, in the dtype of the scores and with a gradient in closed form."""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.lists import is_at_most, take
from keras_softsort.ops._core.running_sums import sums_after, sums_up_to
from keras_softsort.ops.sampling._logsumexp import logsumexp, suffix_logsumexp

# Scores within this of the largest of their list: exponentials relative to it are in range, and so are the sums of a
# hundred million of them over any of them.
SAFE_RANGE = {tf.float32: 70.0, tf.float64: 600.0}
# Up to this many items sums of float32 lose no digits that matter.
FLOAT32_SIZE = 1000
# Lists of a wider range are computed by comparing all pairs up to this size, and up to this many pairs in all lists,
# which count as this many while their number is unknown. Others are computed by blocks.
DENSE_SIZE, MAX_PAIRS, UNKNOWN_BATCH = 1000, 2**26, 256


class Sequence(NamedTuple):
    """Choices in the order of the items: each from those of its group and of all later ones."""

    # The first and the last item of each item's group, [B, n] int32, counted from 0. None for groups of one.
    first: tf.Tensor | None = None
    last: tf.Tensor | None = None

    def others(self, terms: tf.Tensor) -> tf.Tensor:
        """The sum of the terms [B, n], at least 0, that each item is chosen from, but for its own."""
        after = sums_after(terms)
        if self.first is None:
            return after
        left = after + terms
        return after + (self.at_start(left) - left)  # those of its group that stand before it

    def at_start(self, left: tf.Tensor) -> tf.Tensor:
        """The value [B, n] of the first item of each item's group."""
        return left if self.first is None else take(left, self.first)

    def logsumexp(self, values: tf.Tensor) -> tf.Tensor:
        """The logsumexp [B, n] of the values that each item is chosen from."""
        return self.at_start(suffix_logsumexp(values))

    def choices(self, values: tf.Tensor) -> tf.Tensor:
        """The sum of the values [B, n] of the choices that each item is left for."""
        sums = sums_up_to(values)
        return sums if self.last is None else take(sums, self.last)

    def pairs(self, size: tf.Tensor) -> tf.Tensor:
        """Whether the choice i [., i, .] is from the item j [., ., j]."""
        first, last = self.bounds(size)
        return first[:, :, tf.newaxis] <= last[:, tf.newaxis, :]

    def bounds(self, size: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The first and the last item of each item's group, [B, n] or [1, n]."""
        if self.first is None or self.last is None:
            items = tf.range(size)[tf.newaxis]
            return items, items
        return self.first, self.last


class AgainstLater(NamedTuple):
    """Choices of each item from itself and those after its group, for items in the order of their groups."""

    # The first and the last item of each item's group, [B, n] int32, counted from 0.
    first: tf.Tensor
    last: tf.Tensor

    def others(self, terms: tf.Tensor) -> tf.Tensor:
        """As those of `Sequence`."""
        return take(sums_after(terms), self.last)

    def choices(self, values: tf.Tensor) -> tf.Tensor:
        """As those of `Sequence`."""
        return values + take(tf.pad(sums_up_to(values), [[0, 0], [1, 0]]), self.first)

    def pairs(self, size: tf.Tensor) -> tf.Tensor:
        """As those of `Sequence`."""
        items = tf.range(size)
        return tf.logical_or(self.last[:, :, tf.newaxis] < items, tf.equal(items[:, tf.newaxis], items))

    def logsumexp(self, values: tf.Tensor) -> tf.Tensor:
        """As that of `Sequence`."""
        # No item follows the last one.
        behind = tf.pad(suffix_logsumexp(values), [[0, 0], [0, 1]], constant_values=-math.inf)
        return logsumexp(tf.stack([values, take(behind, self.last + 1)], axis=-1))


Choices = Sequence | AgainstLater


def choice_costs(scores: tf.Tensor, weights: tf.Tensor | None, choices: Choices) -> tf.Tensor:
    """`sum_i w_i (logsumexp_j a_j - a_i)`, each item i being chosen from the items j of `choices`: [B].

    The scores a [B, n] may be -inf; weights of None are 1. Costs of weight 0 do not count; nor do those of items that
    are chosen when only scores of -inf are left.
    """

    @tf.custom_gradient
    def costs(scores: tf.Tensor, *given: tf.Tensor) -> tuple:
        # Not -inf, from which -inf cannot be subtracted.
        relative = scores - tf.maximum(tf.reduce_max(scores, axis=1, keepdims=True), scores.dtype.min)
        lowest = tf.reduce_min(tf.where(tf.math.is_finite(relative), relative, tf.zeros_like(relative)))
        wide = lowest < -SAFE_RANGE[scores.dtype]
        terms, slopes = tf.cond(
            wide, lambda: _by_logarithms(scores, weights, choices), lambda: _by_sums(relative, weights, choices)
        )

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, ...]:
            upstream = upstream[:, tf.newaxis]
            return (slopes * upstream, *(tf.math.multiply_no_nan(terms, upstream) for _ in given))

        return tf.reduce_sum(terms if weights is None else tf.math.multiply_no_nan(terms, weights), axis=1), gradient

    return costs(scores) if weights is None else costs(scores, weights)


def _by_sums(relative: tf.Tensor, weights: tf.Tensor | None, choices: Choices) -> tuple[tf.Tensor, tf.Tensor]:
    """The costs, and the gradient of their weighted sum: [B, n] each."""
    terms = tf.exp(relative)
    others = choices.others(terms)
    left = others + terms
    # If nothing is left to choose from, there is no cost and no slope.
    none_left, zeros = tf.equal(left, 0), tf.zeros_like(left)
    # log(left / term) would lose the digits of small costs. 0 / 0 would make second derivatives NaN.
    ratios = tf.where(none_left, zeros, others) / tf.where(none_left, tf.ones_like(terms), terms)
    costs = tf.math.log1p(ratios)
    weights = tf.where(none_left, zeros, tf.ones_like(zeros) if weights is None else weights)
    return costs, terms * choices.choices(tf.math.divide_no_nan(weights, left)) - weights


def _by_logarithms(scores: tf.Tensor, weights: tf.Tensor | None, choices: Choices) -> tuple[tf.Tensor, tf.Tensor]:
    """The same for scores of any range, which may be far from 0."""
    weights = tf.ones_like(scores) if weights is None else weights
    batch, size = scores.shape
    lists = UNKNOWN_BATCH if batch is None else batch
    is_large = not is_at_most(size, DENSE_SIZE) or lists * size * size > MAX_PAIRS
    if is_large:
        return _by_blocks(scores, weights, choices)
    zero, nowhere = tf.zeros([], scores.dtype), tf.constant(-math.inf, scores.dtype)
    every = tf.where(choices.pairs(tf.shape(scores)[1]), scores[:, tf.newaxis, :], nowhere)
    peak = tf.reduce_max(every, axis=2)
    peak = tf.where(tf.equal(peak, nowhere), zero, peak)
    terms = tf.exp(every - peak[:, :, tf.newaxis])
    sums = tf.reduce_sum(terms, axis=2)
    over = tf.equal(sums, zero)  # not by the peak: TensorFlow's maximum may drop NaN
    weights = tf.where(over, zero, weights)
    # The difference from the largest is exact, the logarithm of the sum of all is small.
    costs = tf.where(over, zero, (peak - scores) + tf.math.log(sums))
    shares = tf.reduce_sum(terms * tf.math.divide_no_nan(weights, sums)[:, :, tf.newaxis], axis=1)
    return costs, shares - weights


def _by_blocks(scores: tf.Tensor, weights: tf.Tensor, choices: Sequence | AgainstLater) -> tuple[tf.Tensor, tf.Tensor]:
    """The same for long lists, in float64: float32 logarithms of sums far from 0 would lose the digits of the costs."""
    wide, weights = tf.cast(scores, tf.float64), tf.cast(weights, tf.float64)
    never, zero = tf.constant(-math.inf, tf.float64), tf.zeros([], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(wide)
        left = choices.logsumexp(wide)
        over = tf.equal(left, never)
        weights = tf.where(over, zero, weights)
        total = tf.reduce_sum(tf.math.multiply_no_nan(left, weights))
    slopes = tape.gradient(total, wide) - weights
    costs = tf.where(over, zero, tf.where(over, zero, left) - tf.where(over, zero, wide))
    return tf.cast(costs, scores.dtype), tf.cast(slopes, scores.dtype)
