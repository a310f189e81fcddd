"""SoftSort's logits, `-|sorted_i - s_j|^power / tau`, with a gradient in closed form."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.lists import take
from keras_softsort.ops.sorting._dense.soft_rows import (
    LogitGradient,
    Ranks,
    RowLogits,
    masked_logits,
    temperature_gradient,
)
from keras_softsort.ops.sorting._ordering import OrderedLists


def soft_sort_logits(lists: OrderedLists, ranks: Ranks, power: float) -> RowLogits:
    """Of the rows `ranks` of the soft permutation of `lists`."""
    valid_rows = lists.valid_ranks(ranks.numbers)
    rows = None if ranks.are_all else ranks.numbers
    row_items = lists.order if rows is None else take(lists.order, rows)
    # Here and not in `logits`, since the gradient needs them too.
    differences = take(lists.scores, row_items)[:, :, tf.newaxis] - lists.scores[:, tf.newaxis, :]

    def logits(_: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
        distances = _power(tf.abs(differences), power)
        return masked_logits(distances / -tau[:, :, tf.newaxis], lists.mask, valid_rows)

    def gradient(
        d_logits: LogitGradient, logits: tf.Tensor, scores: tf.Tensor, tau: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        d_differences = d_logits.times(_signed_slope(differences, power))
        (d_items,) = d_differences.column_sums(None)
        d_scores = (d_items - lists.gradient_of_sorted_scores(d_differences.row_sums(), rows)) / tau
        return d_scores, temperature_gradient(d_logits, logits, tau)

    return RowLogits(logits, gradient, valid_rows, peaks_at_zero=True)


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
