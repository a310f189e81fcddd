"""The costs of choosing items one after another, by comparing all pairs of a list."""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

from keras_softsort._internal.not_a_number import at_least_or_nan
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.sampling.logsumexp import is_excluded

# The distance of the levels of scores. Exponentials of a half of it, and of it, are in range.
LEVEL = {tf.float32: 64.0, tf.float64: 512.0}


class ComparedChoices(NamedTuple):
    """Choices in any order of the items, by pairs: each from the items with a lower key and the tied ones that count.

    For 64 lists of 128 items, the compiler for a TPU expects 2 us of `plackett_luce_loss` by pairs, and 53 us of the
    formula with a sort (benchmarks/accelerators).
    """

    keys: tf.Tensor  # [B, n]
    # Items with equal keys are chosen from each other ("breslow"), in the order of the list ("first"), or "never".
    ties: str

    def others(self, axis: int) -> tf.Tensor:
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

    def highest(self, levels: tf.Tensor) -> tf.Tensor:
        """The largest of the `levels` [B, n] of a chosen item and of its alternatives: [B, n]."""
        chosen, item = (tf.expand_dims(self.keys, axis) for axis in (2, 1))
        counts = item <= chosen if self.ties == "breslow" else self.others(axis=1)
        return tf.reduce_max(tf.where(counts, tf.expand_dims(levels, 1), tf.expand_dims(levels, 2)), axis=2)

    def sums_over_others(self, terms: tf.Tensor, own: tf.Tensor, axis: int) -> tf.Tensor:
        """Sum the `terms` [B, n, n] of pairs as in `others`; `own` [B, n] are those of an item with itself."""
        zero = tf.zeros([], terms.dtype)
        if self.ties != "breslow":
            return tf.reduce_sum(tf.where(self.others(axis), terms, zero), axis=2)
        chosen, item = (tf.expand_dims(self.keys, each) for each in (3 - axis, axis))
        # Without tied items, the sum of a group is exactly its own term.
        group = tf.reduce_sum(tf.where(tf.equal(item, chosen), terms, zero), axis=2)
        return tf.reduce_sum(tf.where(item < chosen, terms, zero), axis=2) + (group - own)


def compared_costs(scores: tf.Tensor, choices: ComparedChoices) -> tf.Tensor:
    """The costs [B, n] of choices, for scores of any range.

    Exponentials are relative to a level of each score, a multiple of `LEVEL`, so that none is computed for a pair.
    Alternatives more than one level below the largest one add nothing to a sum.
    """
    level = LEVEL[scores.dtype]
    can_be_chosen, lowest = at_least_or_nan(scores, scores.dtype.min / 8), excluded(scores.dtype)

    def relative(above: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
        """The exponential of the distance of `levels` from levels `above`."""
        below = above - levels
        return tf.cast(tf.equal(below, 0), below.dtype) + math.exp(-level) * tf.cast(tf.equal(below, 1), below.dtype)

    @tf.custom_gradient
    def costs(scores: tf.Tensor) -> tuple:
        levels = tf.stop_gradient(tf.round(scores / level))
        highest = tf.stop_gradient(choices.highest(levels))
        # Exponentials relative to the level of an item, and its own one relative to that of the sum.
        terms, scale = tf.exp(scores - level * levels), relative(highest, levels)
        own = terms * scale

        def sums_over_others(numbers: tf.Tensor, own: tf.Tensor, axis: int) -> tf.Tensor:
            """Sum `numbers` [B, n] over the alternatives of a choice, or with `axis` 2 over the choices of an item."""
            scales = relative(tf.expand_dims(highest, 3 - axis), tf.expand_dims(levels, axis))
            return choices.sums_over_others(tf.expand_dims(numbers, 1) * scales, own, axis)

        sums = sums_over_others(terms, own, axis=1)
        # If an item is more likely than all others together, log(1 + ...) keeps the digits of its small cost.
        largest = tf.maximum(sums, own)
        far = tf.where(sums > own, tf.math.log(largest) - (scores - level * highest), 0)
        cost = tf.math.log1p(tf.minimum(sums, own) / largest) + far
        # Infinite for an item that cannot be chosen, if another one is left.
        refused = 1 / tf.cast(tf.logical_or(can_be_chosen, is_excluded(level * highest)), cost.dtype) - 1

        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            # The terms of the choices that have an item among their alternatives are computed anew and along the last
            # axis: a GPU would store a matrix that it needs again, or sums along another axis.
            each = tf.where(can_be_chosen, upstream, 0) / (sums + own)
            return terms * sums_over_others(each, each * scale, axis=2) - each * sums

        return tf.where(can_be_chosen, cost, refused), gradient

    return costs(tf.where(can_be_chosen, scores, lowest))
