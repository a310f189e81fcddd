"""The gaps of NeuralSort's logits below the largest of their row, from all pairs of items, without a sort.

It is the published formula, (n - 1 - 2 i) s_j - sum_k |s_j - s_k| for ranks i from 0, in float64, minus the largest of
the row. Tied items have the same sums, so their weights are equal to the last bit.
"""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort.ops.sorting._ordering import OrderedLists, in_temperatures


class PairwiseLogitGaps:
    """Logits, and their gradient, of the rows `rows` [B, r] of `lists`."""

    def __init__(self, lists: OrderedLists, rows: tf.Tensor) -> None:
        self.mask = lists.mask
        self.factors = lists.valid_counts() - 1 - 2 * rows
        # -1, 0 or 1 for a valid item k [B, k, 1] compared with j [B, 1, j], 0 for a masked one.
        self.signs = self._of_kept(tf.sign(_differences(tf.stop_gradient(lists.scores))))

    def logits(self, scores: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
        """Minus the gaps of `scores`, those of the lists: [B, r, n]; anything where masked."""
        wide = in_temperatures(scores, tau)
        spread = tf.reduce_sum(self._of_kept(tf.abs(_differences(wide))), axis=1)
        factors = tf.cast(self.factors, tf.float64)
        heights = factors[:, :, tf.newaxis] * wide[:, tf.newaxis, :] - spread[:, tf.newaxis, :]
        lowest = tf.constant(-math.inf, tf.float64)
        kept = heights if self.mask is None else tf.where(self.mask[:, tf.newaxis, :], heights, lowest)
        return tf.cast(heights - tf.reduce_max(kept, axis=-1, keepdims=True), scores.dtype)

    def gradient(self, d_logits: tf.Tensor) -> tf.Tensor:
        """The gradient of the scores [B, n], in units of tau; every row of `d_logits` [B, r, n] must sum to 0."""
        signs = tf.cast(self.signs, d_logits.dtype)
        # With this form, the factor of an item is small near its rank, where its weights are.
        own = tf.reduce_sum(signs, axis=1)
        factors = tf.cast(self.factors, d_logits.dtype)
        direct = tf.reduce_sum(d_logits * (factors[:, :, tf.newaxis] + own[:, tf.newaxis, :]), axis=1)
        columns = tf.reduce_sum(d_logits, axis=1)
        return direct - tf.reduce_sum(columns[:, tf.newaxis, :] * signs, axis=-1)

    def _of_kept(self, pairs: tf.Tensor) -> tf.Tensor:
        return pairs if self.mask is None else tf.where(self.mask[:, :, tf.newaxis], pairs, tf.zeros_like(pairs))


def _differences(scores: tf.Tensor) -> tf.Tensor:
    """s_k - s_j: [B, k, j]."""
    return scores[:, :, tf.newaxis] - scores[:, tf.newaxis, :]
