"""NeuralSort's logits by comparing each item with each: no sort.

The formula as published, ((n - 1 - 2 i) s_j - sum_k |s_j - s_k|) for ranks i from 0, less the largest of the row.
float32 scores are taken in two parts, of which the higher one is exact in all of the formula: a score far from the
others, or a number common to all of them, costs no digits. Tied items take the same sums, so that their weights are
equal to the last bit.
"""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort._internal.arguments import dtype_tiny
from keras_softsort.ops._core.thresholds import is_at_most
from keras_softsort.ops.sorting._dense.matrix_sums import SHORT, column_sums, lines
from keras_softsort.ops.sorting._dense.soft_rows import LogitGradient
from keras_softsort.ops.sorting._dense.two_parts import centered_parts
from keras_softsort.ops.sorting._ordering import OrderedLists

SCALE = 512.0


class PairwiseLogitGaps:
    """Logits, and their gradient, of the rows `rows` [B, r] of `lists`."""

    peaks_at_zero = True

    def __init__(self, lists: OrderedLists, rows: tf.Tensor) -> None:
        self.mask = lists.mask
        scores = tf.stop_gradient(lists.scores)
        self.factors = tf.cast(lists.valid_counts() - 1 - 2 * rows, scores.dtype)
        # -1, 0 or 1 for item j [B, 1, j] beside a valid k [B, k, 1], 0 beside a masked one. XLA sums over k, the middle
        # axis, faster than over the last one.
        signs = tf.sign(scores[:, tf.newaxis, :] - scores[:, :, tf.newaxis])
        self.signs = signs if self.mask is None else tf.where(self.mask[:, :, tf.newaxis], signs, tf.zeros_like(signs))

    def logits(self, scores: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
        """Logits of `scores`, those of the lists, less about the largest valid one of each row: [B, r, n]."""
        # Both scaled down, so that no difference times the list size overflows.
        scores, tau = scores / SCALE, tau / SCALE
        tiny = dtype_tiny(tau.dtype)
        tau = tf.where(tau < tiny, tf.constant(tiny, tau.dtype), tau)  # a maximum might lose a NaN
        infinity = tf.constant(math.inf, scores.dtype)
        lowest = tf.reduce_min(self._of_valid(scores, infinity), axis=1, keepdims=True)
        if scores.dtype == tf.float64:
            (heights,) = self._heights(scores - lowest)
            return self._below_peak(heights) / tau[:, :, tf.newaxis]
        highest = tf.reduce_max(self._of_valid(scores, -infinity), axis=1, keepdims=True)
        high, low = centered_parts(scores, lowest, highest)
        high_heights, low_heights = self._heights(high, low)
        gaps = self._below_peak(high_heights) + low_heights
        # The low parts may lift the peak, far at a tiny tau. TensorFlow's softmax, of longer rows, takes it anew.
        if is_at_most(scores.shape[1], SHORT):
            gaps = self._below_peak(gaps)
        else:
            tau = self._finite_lift(tau, low)
        return gaps / tau[:, :, tf.newaxis]

    def gradient(self, d_logits: LogitGradient) -> tf.Tensor:
        """The gradient of the scores [B, n], in units of tau."""
        columns, direct = d_logits.column_sums(None, self.factors)
        above_less_below, others = column_sums(self.signs, None, columns)
        return direct - above_less_below * columns - others

    def _heights(self, *parts: tf.Tensor) -> list[tf.Tensor]:
        """`(n - 1 - 2 i) s_j - sum_k |s_j - s_k|` of each part s [B, n] of the scores: [B, r, n] each."""
        counts, *others = column_sums(self.signs, None, *parts)
        return [lines(self.factors, part, counts * part - other) for part, other in zip(parts, others, strict=True)]

    def _below_peak(self, heights: tf.Tensor) -> tf.Tensor:
        """`heights` [B, r, n] less the largest valid one of each row."""
        valid = heights
        if self.mask is not None:
            valid = tf.where(self.mask[:, tf.newaxis, :], heights, tf.constant(-math.inf, heights.dtype))
        return heights - tf.reduce_max(valid, axis=2, keepdims=True)

    def _finite_lift(self, tau: tf.Tensor, low: tf.Tensor) -> tf.Tensor:
        """`tau` [B, 1], raised where the `low` parts could lift a logit to infinity. Rows are hard there either way."""
        size = tf.cast(low.shape[1] or tf.shape(low)[1], low.dtype)
        largest = tf.reduce_max(self._of_valid(tf.abs(low), tf.zeros([], low.dtype)), axis=1, keepdims=True)
        lowest_tau = largest * (3 * size / (low.dtype.max / 4))
        return tf.where(tau < lowest_tau, lowest_tau, tau)

    def _of_valid(self, scores: tf.Tensor, otherwise: tf.Tensor) -> tf.Tensor:
        return scores if self.mask is None else tf.where(self.mask, scores, otherwise)
