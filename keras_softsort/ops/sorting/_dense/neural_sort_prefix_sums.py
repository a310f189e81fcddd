"""How far NeuralSort's logits fall short of their row's peak, in sorted coordinates: a sort and one cumulative sum.

With x_0 >= x_1 >= ..., row i's peak is at a = i, and the item at rank a falls short of it by

    drop(i, a) = H_a - H_i - 2 (a - i) x_a >= 0,    H_a = 2 (x_0 + ... + x_{a-1}) + x_a.

H is summed in float64 and kept as a float32 pair, so what is lost is the rounding of a difference between neighbours,
not of the textbook formula's sums over the whole list.
"""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.batching import take
from keras_softsort.ops.sorting._ordering import OrderedLists


class PrefixSumLogitGaps:
    """drop(row, item) of the rows `rows` [B, r] of `lists`."""

    def __init__(self, lists: OrderedLists, rows: tf.Tensor) -> None:
        self.lists, self.rows = lists, rows
        # Tied items share the rank of the first of them, so that their weights are equal to the last bit.
        self.first, self.last = lists.ties()
        self.center = _exact_center(lists.sort_keys)

    def of(self, scores: tf.Tensor) -> tf.Tensor:
        """Of `scores`, those of the lists: [B, r, n]."""
        scores, dtype = scores - self.center, scores.dtype
        wide = tf.cast(take(scores, self.lists.order), tf.float64)
        sums = 2 * tf.cumsum(wide, axis=-1) - wide
        high = tf.cast(sums, dtype)
        low = tf.cast(sums - tf.cast(high, tf.float64), dtype)

        rows, item_first, row_first = self.rows, take(self.first, self.lists.ranks), take(self.first, self.rows)
        ranks_apart = tf.cast(item_first, dtype)[:, tf.newaxis, :] - tf.cast(rows, dtype)[:, :, tf.newaxis]
        drop = _differences(high, item_first, rows) - ranks_apart * (2 * scores)[:, tf.newaxis, :]
        if dtype != tf.float64:
            drop += _differences(low, item_first, rows)
        # The peak, and what is tied with it, exactly: at extreme scores the rounding of a tie is larger than tau.
        at_peak = item_first[:, tf.newaxis, :] == row_first[:, :, tf.newaxis]
        return tf.where(at_peak, tf.zeros([], dtype), drop)

    def gradient(self, d_logits: tf.Tensor) -> tf.Tensor:
        """That of the scores [B, n], in units of tau, of which every row of `d_logits` [B, r, n] sums to 0."""
        ranks, rows = self.lists.ranks, tf.cast(self.rows, d_logits.dtype)
        tied = tf.cast(take(self.first + self.last, ranks), d_logits.dtype)
        direct = tf.reduce_sum(d_logits * (tied[:, tf.newaxis, :] - 2 * rows[:, :, tf.newaxis]), axis=1)
        # sum_j c_j sign(x_j - x_k), c_j = sum_i d_logits_ij, by prefix sums; sum_j c_j = 0.
        column = take(tf.reduce_sum(d_logits, axis=1), self.lists.order)
        above = take(tf.cumsum(column, axis=-1, exclusive=True), self.first)
        not_below = take(tf.cumsum(column, axis=-1), self.last)
        return direct + take(above + not_below, ranks)


def _differences(values: tf.Tensor, columns: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """`values[columns] - values[rows]`: [B, r, n]."""
    return take(values, columns)[:, tf.newaxis, :] - take(values, rows)[:, :, tf.newaxis]


def _exact_center(sort_keys: tf.Tensor) -> tf.Tensor:
    """A score to subtract without rounding (Sterbenz), where the scores lie close together and far from 0; else 0."""
    if sort_keys.shape[-1] == 0:
        return tf.zeros([], sort_keys.dtype)
    high = tf.reduce_max(sort_keys, axis=-1, keepdims=True)
    low = tf.reduce_min(tf.where(tf.math.is_finite(sort_keys), sort_keys, high), axis=-1, keepdims=True)
    close = high - low <= tf.minimum(tf.abs(high), tf.abs(low))
    return tf.where(close, low, tf.zeros_like(low))
