"""SoftSort's logits, `-|sorted_i - s_j|^power / tau`."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from keras_softsort.ops.core.order import descending, take
from keras_softsort.ops.sorting._dense.soft_rows import Logits
from keras_softsort.ops.sorting._ordering import Lists


def soft_sort_logits(lists: Lists, ranks: tf.Tensor, power: float) -> Logits:
    """Logits of the rows at `ranks` [B or 1, r]."""
    _, order = descending(lists.sort_keys())
    items = take(order, ranks)

    def logits(scores: tf.Tensor, tau: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        differences = take(scores, items)[:, :, tf.newaxis] - scores[:, tf.newaxis, :]

        def gradient(d_logits: tf.Tensor) -> tf.Tensor:
            d_differences = d_logits * _signed_slope(differences, power)
            # The items with the score at a rank share its gradient evenly.
            is_tied = tf.equal(differences, 0)
            if lists.mask is not None:
                is_tied = tf.logical_and(is_tied, lists.mask[:, tf.newaxis, :])
            number = tf.reduce_sum(tf.cast(is_tied, scores.dtype), axis=2)
            d_sorted = tf.reduce_sum(d_differences, axis=2) / tf.maximum(number, 1)
            # The slope of a tied item is 0.
            return tf.reduce_sum(tf.where(is_tied, -d_sorted[:, :, tf.newaxis], d_differences), axis=1)

        return _power(tf.abs(differences), power) / -tau[:, :, tf.newaxis], gradient

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
