"""The gaps of NeuralSort's logits below the largest of their row, from a sort and two cumulative sums.

With the sorted scores x_0 >= x_1 >= ... in units of tau and d_p = x_{p-1} - x_p, row i is largest at the item of rank
i. The logit of the item of rank a is below it by

    gap(i, a) = F_a - F_i - (2 i - n) (G_a - G_i) >= 0,
    F_a = sum_{p <= a} (2 p - 1 - n) d_p,    G_a = sum_{p <= a} d_p.

Weights across a very large d_p are 0, so such a d_p is clipped, which keeps the precision of the others. The sums are
float64. Float32 logits use pairs of them: high parts on a common grid, on which the formula is exact, and small low
parts.
"""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.batching import take
from keras_softsort.ops.sorting._ordering import MAX_GAP, OrderedLists, in_temperatures

# Logarithms of weights are computed unless they overflow.
MAX_GAP_LOG = {tf.float32: 1e28, tf.float64: 1e280}


class PrefixSumLogitGaps:
    """Logits, and their gradient, of the rows `rows` [B, r] of `lists`."""

    def __init__(self, lists: OrderedLists, rows: tf.Tensor, log: bool = False) -> None:
        self.lists, self.rows = lists, rows
        self.max_gap = (MAX_GAP_LOG if log else MAX_GAP)[lists.scores.dtype]
        # Tied items use the rank of the first of them, so that their weights are equal to the last bit.
        self.first, self.last = lists.ties()

    def logits(self, scores: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
        """`-gap` of `scores`, those of the lists: [B, r, n]; 0 at each row's peak."""
        dtype, size = scores.dtype, tf.shape(scores)[1]
        descending = in_temperatures(take(scores, self.lists.order_of_valid()), tau)
        before = tf.concat([descending[:, :1], descending[:, :-1]], axis=1)
        gaps = tf.minimum(before - descending, tf.constant(self.max_gap, tf.float64))
        ranks = tf.cast(tf.range(size), tf.float64)
        wide_size = tf.cast(size, tf.float64)
        sums = tf.stack([tf.cumsum((2 * ranks - 1 - wide_size) * gaps, axis=1), tf.cumsum(gaps, axis=1)])
        if dtype == tf.float64:
            return self._outer(sums)
        high = _on_grid(sums, wide_size)
        # Only differences: TensorFlow's graph optimizer regroups sums, which would make exact results inexact.
        return self._outer(tf.cast(high, dtype)) - self._outer(tf.cast(high - sums, dtype))

    def _outer(self, sums: tf.Tensor) -> tf.Tensor:
        """`(2 i - n) (G_a - G_i) - (F_a - F_i)` of each row i and item: [B, r, n]."""
        linear, total = tf.unstack(sums)
        factor = tf.cast(2 * self.rows - tf.shape(sums)[2], sums.dtype)
        item_first, row_first = take(self.first, self.lists.ranks), take(self.first, self.rows)
        at_peak = factor * take(total, row_first) - take(linear, row_first)
        items = factor[:, :, tf.newaxis] * take(total, item_first)[:, tf.newaxis, :]
        return (items - take(linear, item_first)[:, tf.newaxis, :]) - at_peak[:, :, tf.newaxis]

    def gradient(self, d_logits: tf.Tensor) -> tf.Tensor:
        """The gradient of the scores [B, n], in units of tau; every row of `d_logits` [B, r, n] must sum to 0."""
        ranks, rows = self.lists.ranks, tf.cast(self.rows, d_logits.dtype)
        tied = tf.cast(take(self.first + self.last, ranks), d_logits.dtype)
        direct = tf.reduce_sum(d_logits * (tied[:, tf.newaxis, :] - 2 * rows[:, :, tf.newaxis]), axis=1)
        # sum_j c_j sign(x_j - x_k), c_j = sum_i d_logits_ij, by prefix sums; sum_j c_j = 0.
        column = take(tf.reduce_sum(d_logits, axis=1), self.lists.order)
        above = take(tf.cumsum(column, axis=-1, exclusive=True), self.first)
        not_below = take(tf.cumsum(column, axis=-1), self.last)
        return direct + take(above + not_below, ranks)


def _on_grid(sums: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """`sums` [2, B, n] rounded to multiples of a number per list, so coarse that float32 adds and scales them exactly.

    No term of the formula is above 2 n G. Adding 2^29 times as much rounds all but 24 bits away.
    """
    shift = tf.stop_gradient(2.0**30 * size * sums[1, :, -1:])
    return tf.stop_gradient((sums + shift) - shift)
