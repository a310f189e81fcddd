"""Approximate ranks, and the choice of how to compute them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort.ops._core.thresholds import is_at_most
from keras_softsort.ops.ranking._sigmoid_ranks.exponential_sums import MAX_COUNT, ExponentialSums, largest_span
from keras_softsort.ops.ranking._sigmoid_ranks.pairs import Pairs

# Nodes for scores that span up to 11 temperatures. Longer lists have a second choice, a node for every 3 items, which
# still takes at most 0.8 of the time of all pairs.
COUNT, MIN_SIZE = 32, 100
ITEMS_PER_NODE, MORE_MIN_SIZE = 3, 200

Way = Callable[[tf.Tensor], Pairs | ExponentialSums]


def sigmoid_ranks(scores: tf.Tensor, tau: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """1 + sum_{j != i} sigmoid((s_j - s_i) / tau) over the valid items j: [B, n]; undefined where masked.

    `tau` is a scalar or [B, 1].
    """
    limit = scores.dtype.max / 8
    # So low that a masked item is ahead of none.
    lowest, zeros = tf.constant(-2 * limit, scores.dtype), tf.zeros_like(scores)
    # Ranks depend on differences: relative to the largest score, the gradient of tau keeps the digits of them.
    peak = tf.stop_gradient(tf.reduce_max(tf.where(mask, scores, lowest), axis=1, keepdims=True))
    relative = tf.maximum(tf.where(mask, scores - peak, zeros) / tau, -limit)
    return _ranks(tf.where(mask, relative, lowest), -tf.reduce_min(relative))


@tf.custom_gradient
def _ranks(scores: tf.Tensor, span: tf.Tensor) -> tuple:
    """The ranks of finite scores of at most 0, in units of the temperature, the valid ones of at least `-span`."""
    if is_at_most(scores.shape[1], MIN_SIZE - 1):
        pairs = Pairs(scores)
        return pairs.ranks(), lambda upstream: (pairs.gradient(upstream), None)

    # The gradient computes again what would take n^2 numbers to store: `tf.cond` stores the results of every branch.
    def gradient(upstream: tf.Tensor) -> tuple:
        return _by_cheapest(scores, span, lambda way: way(scores).gradient(upstream)), None

    return _by_cheapest(scores, span, lambda way: way(scores).ranks()), gradient


def _by_cheapest(scores: tf.Tensor, span: tf.Tensor, compute: Callable[[Way], tf.Tensor]) -> tf.Tensor:
    """Call `compute` with the fewest nodes that suffice, or with all pairs."""
    size = scores.shape[1]

    def first_that_fits(ways: list[tuple[Any, int]]) -> tf.Tensor:
        if not ways or scores.dtype != tf.float32:
            return compute(Pairs)
        (count, min_size), *others = ways
        fits = span <= largest_span(count)
        if size is None:
            fits = tf.logical_and(fits, tf.shape(scores)[1] >= min_size)
        elif size < min_size:
            return first_that_fits(others)
        nodes = functools.partial(ExponentialSums, count=count)
        return tf.cond(fits, lambda: compute(nodes), lambda: first_that_fits(others))

    share = (tf.shape(scores)[1] if size is None else size) // ITEMS_PER_NODE
    more = min(share, MAX_COUNT) if isinstance(share, int) else tf.minimum(share, MAX_COUNT)
    return first_that_fits([(COUNT, MIN_SIZE), (more, MORE_MIN_SIZE)])
