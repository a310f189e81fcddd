"""SoftSort's logits, `-|sorted_i - s_j|^power / tau`."""

from __future__ import annotations

import functools
from collections.abc import Callable

import tensorflow as tf

from keras_softsort.ops.core.order import descending, take
from keras_softsort.ops.sorting._dense.soft_rows import BY_RANK, Layout, Logits, Pairs
from keras_softsort.ops.sorting._ordering import Lists


def soft_sort_logits(lists: Lists, ranks: tf.Tensor, power: float) -> Logits:
    """Logits of the rows at `ranks` [B or 1, r]."""
    _, order = descending(lists.sort_keys())
    items = take(order, ranks)

    def logits(scores: tf.Tensor, tau: tf.Tensor) -> tuple[Pairs, Callable[[Pairs, Layout], tf.Tensor]]:
        ordered = take(scores, items)
        by_rank = BY_RANK.of_ranks(ordered) - BY_RANK.of_items(scores)

        def differences(layout: Layout) -> tf.Tensor:
            return by_rank if layout == BY_RANK else layout.of_ranks(ordered) - layout.of_items(scores)

        def pairs(layout: Layout) -> tf.Tensor:
            return _power(tf.abs(differences(layout)), power) / -tau[:, :, tf.newaxis]

        def gradient(d_logits: Pairs, columns: Layout) -> tf.Tensor:
            @functools.cache
            def slopes_and_ties(layout: Layout) -> tuple[tf.Tensor, tf.Tensor]:
                is_tied = tf.equal(differences(layout), 0)
                if lists.mask is not None:
                    is_tied = tf.logical_and(is_tied, layout.of_items(lists.mask))
                # Beyond a power of 2 the slope overflows at distances where the gradient of the logit is 0.
                times = tf.multiply if power <= 2 else tf.math.multiply_no_nan
                return times(_signed_slope(differences(layout), power), d_logits(layout)), is_tied

            # The items with the score at a rank share its gradient evenly.
            d_differences, is_tied = slopes_and_ties(BY_RANK)
            number = BY_RANK.over_items(tf.cast(is_tied, scores.dtype))
            d_sorted = BY_RANK.over_items(d_differences) / tf.maximum(number, 1)
            # The slope of a tied item is 0.
            d_differences, is_tied = slopes_and_ties(columns)
            return columns.over_ranks(tf.where(is_tied, -columns.of_ranks(d_sorted), d_differences))

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
