"""NeuralSort's logits as distances below the peak of each row: a sort and two running sums.

With the sorted scores x_0 >= x_1 >= ... in units of tau and the gaps d_p = x_{p-1} - x_p, row i peaks at the item of
rank i. The item of rank a is below the peak by

    F_a - F_i - 2 i (G_a - G_i) >= 0,    F_a = sum_{p <= a} (2 p - 1) d_p,    G_a = sum_{p <= a} d_p.

This is the published formula, `((n - 1 - 2 i) s_j - sum_k |s_j - s_k|) / tau`, less its largest value in the row. The
sums are float64, so that their differences have all digits of float32.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from keras_softsort.ops._core.lists import take
from keras_softsort.ops.sorting._dense.soft_rows import Logits
from keras_softsort.ops.sorting._ordering import MAX_GAP, OrderedLists

# Logarithms of weights count larger gaps apart, so that these cost the others no digits.
MAX_GAP_OF_SUMS = 1e4
# The largest gap of a logarithm of a weight, which does not overflow.
MAX_GAP_OF_LOG = {tf.float32: 1e28, tf.float64: 1e280}


def neural_sort_logits(lists: OrderedLists, ranks: tf.Tensor, power: float, log: bool) -> Logits:
    """Logits of the rows at `ranks` [B, r]; with `log` also those of weights that underflow."""
    del power

    def logits(scores: tf.Tensor, tau: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        descending = take(scores, lists.order_of_valid())
        gaps = (tf.concat([descending[:, :1], descending[:, :-1]], axis=1) - descending) / tau
        # The weight of an item beyond a larger gap is 0.
        near = _at_most(gaps, MAX_GAP_OF_SUMS if log else MAX_GAP[scores.dtype])
        result = _below_peak(near, lists.ranks, ranks)
        if log:
            result += _below_peak(_at_most(gaps, MAX_GAP_OF_LOG[scores.dtype]) - near, lists.ranks, ranks)
        return tf.cast(result, scores.dtype), lambda d_logits: _gradient(d_logits, lists, ranks)

    return logits


def _at_most(gaps: tf.Tensor, largest: float) -> tf.Tensor:
    """`gaps` cut to `largest`; NaN stays."""
    return tf.where(gaps > largest, tf.constant(largest, gaps.dtype), gaps)


def _below_peak(gaps: tf.Tensor, item_ranks: tf.Tensor, ranks: tf.Tensor) -> tf.Tensor:
    """Minus the distance of each item below the peak of the rows at `ranks` [B, r]: float64 [B, r, n]."""
    gaps = tf.cast(gaps, tf.float64)
    steps = tf.cast(2 * tf.range(tf.shape(gaps)[1]) - 1, gaps.dtype)
    linear, total = tf.cumsum(steps * gaps, axis=1), tf.cumsum(gaps, axis=1)
    slopes = tf.cast(2 * ranks, gaps.dtype)
    peaks = slopes * take(total, ranks) - take(linear, ranks)
    item_linear, item_total = take(linear, item_ranks), take(total, item_ranks)
    heights = slopes[:, :, tf.newaxis] * item_total[:, tf.newaxis, :] - item_linear[:, tf.newaxis, :]
    return heights - peaks[:, :, tf.newaxis]


def _gradient(d_logits: tf.Tensor, lists: OrderedLists, ranks: tf.Tensor) -> tf.Tensor:
    """The gradient of the scores, times tau, of that of the logits [B, r, n], whose rows sum to 0: [B, n].

    `sum_i d_ij (n - 1 - 2 i) - sum_k (c_j + c_k) sign(s_j - s_k)` for item j, with the sums c of columns.
    """
    first, last = lists.ties()
    # The items above j less those below it are first + last - (n - 1), which is exact and cancels most of 2 i.
    tied = tf.cast(take(first + last, lists.ranks), d_logits.dtype)[:, tf.newaxis, :]
    direct = tf.reduce_sum(d_logits * (tied - tf.cast(2 * ranks, d_logits.dtype)[:, :, tf.newaxis]), axis=1)
    # sum_k c_k sign(s_k - s_j), by running sums; all c together are 0.
    columns = take(tf.reduce_sum(d_logits, axis=1), lists.order)
    above = take(tf.cumsum(columns, axis=1, exclusive=True), first)
    not_below = take(tf.cumsum(columns, axis=1), last)
    return direct + take(above + not_below, lists.ranks)
