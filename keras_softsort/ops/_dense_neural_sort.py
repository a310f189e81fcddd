"""NeuralSort's matrix, dense: logits taken relative to each row's peak, gradient in closed form.

In sorted coordinates, x_0 >= x_1 >= ..., the logit of row i and the item at rank a falls short of its row's peak
(which is at a = i) by

    drop(i, a) = H_a - H_i - 2 (a - i) x_a >= 0,    H_a = 2 (x_0 + ... + x_{a-1}) + x_a.

This needs a sort and one cumulative sum. H is summed in float64 and kept as a float32 pair, so what is lost is
the rounding of a difference between neighbours, not of the textbook formula's sums over the whole list.
"""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._order import OrderedLists, take
from keras_softsort.ops._softmax import peaked_logits, softmax_gradient


def neural_sort_rows(lists: OrderedLists, rows: tf.Tensor, log: bool = False) -> tf.Tensor:
    """Rows `rows` [B, r] of the soft permutation of `lists`, or their logarithms: [B, r, n]."""
    # Tied items share the rank of the first of them, so that their weights are equal to the last bit.
    first, last = lists.ties()
    valid_rows = lists.valid_ranks(rows)
    center = _exact_center(lists.sort_keys)

    @tf.custom_gradient
    def matrix(scores: tf.Tensor, tau: tf.Tensor) -> tuple:
        drop = _drop(scores - center, lists, first, rows)
        logits = peaked_logits(drop, tau, lists.mask, valid_rows)
        permutation = tf.nn.softmax(logits)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            d_logits = softmax_gradient(permutation, upstream, valid_rows, log)
            tied = tf.cast(take(first + last, lists.ranks), scores.dtype)
            row = tf.cast(rows, scores.dtype)
            direct = tf.reduce_sum(d_logits * (tied[:, tf.newaxis, :] - 2 * row[:, :, tf.newaxis]), axis=1)
            # sum_j c_j sign(x_j - x_k), c_j = sum_i d_logits_ij, by prefix sums; sum_j c_j = 0.
            column = take(tf.reduce_sum(d_logits, axis=1), lists.order)
            above = take(tf.cumsum(column, axis=-1, exclusive=True), first)
            not_below = take(tf.cumsum(column, axis=-1), last)
            d_scores = (direct + take(above + not_below, lists.ranks)) / tau
            # P(c s, c tau) = P(s, tau) and P(s + c, tau) = P(s, tau), so the temperature's gradient follows.
            middle = tf.stop_gradient(tf.reduce_mean(scores, axis=-1, keepdims=True))
            d_tau = -tf.reduce_sum(d_scores * (scores - middle), axis=-1, keepdims=True) / tau
            return d_scores, d_tau

        return tf.nn.log_softmax(logits) if log else permutation, gradient

    return matrix(lists.scores, lists.tau)


def _drop(scores: tf.Tensor, lists: OrderedLists, first: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """drop(row, rank of item) of `scores`, those of `lists` but for a shift: [B, r, n]."""
    dtype = scores.dtype
    wide = tf.cast(take(scores, lists.order), tf.float64)
    sums = 2 * tf.cumsum(wide, axis=-1) - wide
    high = tf.cast(sums, dtype)
    low = tf.cast(sums - tf.cast(high, tf.float64), dtype)

    item_first, row_first = take(first, lists.ranks), take(first, rows)
    ranks_apart = tf.cast(item_first, dtype)[:, tf.newaxis, :] - tf.cast(rows, dtype)[:, :, tf.newaxis]
    drop = _differences(high, item_first, rows) - ranks_apart * (2 * scores)[:, tf.newaxis, :]
    if dtype != tf.float64:
        drop += _differences(low, item_first, rows)
    # The peak, and what is tied with it, exactly: at extreme scores the rounding of a tie is larger than tau.
    at_peak = item_first[:, tf.newaxis, :] == row_first[:, :, tf.newaxis]
    return tf.where(at_peak, tf.zeros([], dtype), drop)


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
