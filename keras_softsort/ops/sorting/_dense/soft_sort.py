"""SoftSort's logits, `-|sorted_i - s_j|^power / tau`."""

from __future__ import annotations

import functools
from collections.abc import Callable

import tensorflow as tf

from keras_softsort.ops.core.order import take
from keras_softsort.ops.core.target import compares_pairs
from keras_softsort.ops.sorting._dense.soft_rows import BY_RANK, Layout, Logits, Pairs
from keras_softsort.ops.sorting._ordering import Lists, Ranks


def soft_sort_logits(lists: Lists, ranks: Ranks, power: float) -> Logits:
    """Logits of the rows at some ranks."""
    in_order = lists.in_order()
    items = ranks.of(in_order.order)

    def logits(scores: tf.Tensor, tau: tf.Tensor) -> tuple[Pairs, Callable[[Pairs, Layout], tf.Tensor]]:
        ordered = take(scores, items)
        by_rank = BY_RANK.of_ranks(ordered) - BY_RANK.of_items(scores)

        def differences(layout: Layout) -> tf.Tensor:
            return by_rank if layout == BY_RANK else layout.of_ranks(ordered) - layout.of_items(scores)

        def pairs(layout: Layout) -> tf.Tensor:
            return _power(tf.abs(differences(layout)), power) / -tau[:, :, tf.newaxis]

        def gradient(d_logits: Pairs, columns: Layout) -> tf.Tensor:
            @functools.cache
            def slopes(layout: Layout) -> tf.Tensor:
                # Beyond a power of 2 the slope overflows at distances where the gradient of the logit is 0.
                times = tf.multiply if power <= 2 else tf.math.multiply_no_nan
                return times(_signed_slope(differences(layout), power), d_logits(layout))

            d_sorted = BY_RANK.over_items(slopes(BY_RANK))
            if not compares_pairs(lists.scores.shape[1]):
                return columns.over_ranks(slopes(columns)) - in_order.gradient_of_sorted_scores(d_sorted, ranks)

            def are_tied(layout: Layout) -> tf.Tensor:
                tied = tf.equal(differences(layout), 0)
                return tied if lists.mask is None else tf.logical_and(tied, layout.of_items(lists.mask))

            # The items with the score at a rank share its gradient evenly. The slope of a tied item is 0.
            d_sorted /= tf.maximum(BY_RANK.over_items(tf.cast(are_tied(BY_RANK), scores.dtype)), 1)
            return columns.over_ranks(tf.where(are_tied(columns), -columns.of_ranks(d_sorted), slopes(columns)))

        return pairs, gradient

    return logits


def _power(distance: tf.Tensor, power: float) -> tf.Tensor:
    if power == 1:
        return distance
    return tf.square(distance) if power == 2 else tf.pow(distance, power)


def _signed_slope(difference: tf.Tensor, power: float) -> tf.Tensor:
    """d|x|^power / dx, taken as 0 at x = 0 also where power < 1 makes it infinite there."""
    if power == 1:
        return tf.sign(difference)
    if power == 2:
        return 2 * difference
    distance = tf.abs(difference)
    safe = tf.where(distance > 0, distance, tf.ones_like(distance))
    return power * tf.sign(difference) * tf.pow(safe, power - 1)
