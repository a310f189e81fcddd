"""SoftSort's dense matrix, softmax_j(-|sorted_i - s_j|^power / tau), with a closed-form gradient."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.batching import take
from keras_softsort.ops.sorting._dense.row_softmax import masked_logits, softmax_gradient, temperature_gradient
from keras_softsort.ops.sorting._ordering import OrderedLists


def soft_sort_rows(lists: OrderedLists, rows: tf.Tensor, power: float, log: bool = False) -> tf.Tensor:
    """Rows `rows` [B, r] of the soft permutation of `lists`, or their logarithms: [B, r, n]."""
    valid_rows = lists.valid_ranks(rows)

    @tf.custom_gradient
    def matrix(scores: tf.Tensor, tau: tf.Tensor) -> tuple:
        row_scores = take(scores, take(lists.order, rows))
        difference = row_scores[:, :, tf.newaxis] - scores[:, tf.newaxis, :]
        logits = masked_logits(_power(tf.abs(difference), power) / -tau[:, :, tf.newaxis], lists.mask, valid_rows)
        permutation = tf.nn.softmax(logits)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            d_logits = softmax_gradient(permutation, upstream, valid_rows, log)
            d_difference = d_logits * _signed_slope(difference, power)
            d_rows = -tf.reduce_sum(d_difference, axis=2)
            d_scores = (tf.reduce_sum(d_difference, axis=1) + lists.gradient_of_sorted_scores(d_rows, rows)) / tau
            return d_scores, temperature_gradient(d_logits, logits, tau)

        return tf.nn.log_softmax(logits) if log else permutation, gradient

    return matrix(lists.scores, lists.tau)


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
