"""Rows of a soft permutation as softmaxes of logits, their products, and the gradients of either in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.thresholds import is_at_most
from keras_softsort.ops.sorting._dense.matrix_sums import SHORT, column_sums, row_sums
from keras_softsort.ops.sorting._ordering import OrderedLists


class Ranks(NamedTuple):
    """The rows of the matrix that are wanted."""

    numbers: tf.Tensor  # [B, r] int32
    consecutive: bool  # whether each list's follow each other
    are_all: bool = False  # 0, 1, ..., n - 1


class LogitGradient(NamedTuple):
    """A gradient of logits `factors_i slopes_ij`, of which every row sums to 0."""

    slopes: tf.Tensor  # [B, r, n]
    factors: tf.Tensor | None = None  # [B, r], None for 1

    def column_sums(self, *weights: tf.Tensor | None) -> list[tf.Tensor]:
        """Its sums over rows, for each of `weights`, numbers of the rows [B, r] or None for 1: [B, n] each."""
        if self.factors is None:
            return column_sums(self.slopes, *weights)
        return column_sums(self.slopes, *(self.factors if each is None else self.factors * each for each in weights))

    def row_sums(self) -> tf.Tensor:
        """Its sums over columns: [B, r]."""
        sums = tf.reduce_sum(self.slopes, axis=2)
        return sums if self.factors is None else sums * self.factors

    def map(self, function: Callable[[tf.Tensor], tf.Tensor]) -> LogitGradient:
        """`function` of both parts."""
        return LogitGradient(*(None if part is None else function(part) for part in self))

    def times(self, matrix: tf.Tensor) -> LogitGradient:
        """Times `matrix` [B, r, n], entry by entry."""
        return self._replace(slopes=self.slopes * matrix)


class RowLogits(NamedTuple):
    """The logits of some rows of a soft permutation, as a method gives them."""

    logits: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]  # of scores [B, n] and tau [B, 1]: [B, r, n]
    # Of the gradient of the logits, the logits, scores and tau: the gradients of scores and tau.
    gradient: Callable[[LogitGradient, tf.Tensor, tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]]
    valid_rows: tf.Tensor | None  # [B, r]: the rows that are of unmasked items
    peaks_at_zero: bool  # whether the largest logit of each row is 0


def matrix(rows: RowLogits, lists: OrderedLists, log: bool = False) -> tf.Tensor:
    """The rows of the soft permutation of `lists`, or their logarithms: [B, r, n]."""

    @tf.custom_gradient
    def found(scores: tf.Tensor, tau: tf.Tensor) -> tuple:
        logits = rows.logits(scores, tau)
        weights = _softmax(logits, rows.peaks_at_zero)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            if log:
                d_logits = upstream - weights * tf.reduce_sum(upstream, axis=-1, keepdims=True)
            else:
                d_logits = _softmax_gradient(weights, upstream)
            return rows.gradient(LogitGradient(_of_valid(rows, d_logits)), logits, scores, tau)

        return tf.nn.log_softmax(logits) if log else weights, gradient

    return found(lists.scores, lists.tau)


def multiply(rows: RowLogits, lists: OrderedLists, values: tf.Tensor) -> tf.Tensor:
    """P @ values for the rows P of the soft permutation of `lists` and `values` [B, n, d]: [B, r, d].

    The gradient of a row's weights, `u_i w_j`, is taken as `u_i (w_j - (P w)_i)`: a constant of a row is no matter to a
    softmax, and the difference of close values is exact where the product of either would be rounded.
    """

    @tf.custom_gradient
    def product(scores: tf.Tensor, tau: tf.Tensor, values: tf.Tensor) -> tuple:
        logits = rows.logits(scores, tau)
        weights = _softmax(logits, rows.peaks_at_zero)
        result = rows_times(weights, values)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            slopes, factors = centered_slopes(values, result, upstream)
            # Centered once more, against the rounding of `result`.
            d_logits = _products_gradient(rows, _softmax_gradient(weights, slopes), factors)
            d_scores, d_tau = rows.gradient(d_logits, logits, scores, tau)
            return d_scores, d_tau, columns_times(weights, upstream)

        return result, gradient

    return product(lists.scores, lists.tau, values)


def multiply_transposed(rows: RowLogits, lists: OrderedLists, values: tf.Tensor) -> tf.Tensor:
    """P^T @ values for all rows P of the soft permutation of `lists` and `values` [B, n, d]: [B, n, d]."""

    @tf.custom_gradient
    def product(scores: tf.Tensor, tau: tf.Tensor, values: tf.Tensor) -> tuple:
        logits = rows.logits(scores, tau)
        weights = _softmax(logits, rows.peaks_at_zero)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            means = rows_times(weights, upstream)
            slopes, factors = centered_slopes(upstream, means, values)
            d_logits = _products_gradient(rows, weights * slopes, factors)
            return *rows.gradient(d_logits, logits, scores, tau), means

        return columns_times(weights, values), gradient

    return product(lists.scores, lists.tau, values)


def rows_times(weights: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """`weights @ values`, of [B, r, n] and [B, n, d]: [B, r, d]."""
    if values.shape[2] == 1 and is_at_most(weights.shape[2], SHORT):
        return tf.reduce_sum(weights * tf.linalg.matrix_transpose(values), axis=2, keepdims=True)
    return tf.matmul(weights, values)


def columns_times(weights: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """`weights^T @ values`, of [B, r, n] and [B, r, d]: [B, n, d]."""
    if values.shape[2] == 1 and is_at_most(weights.shape[2], SHORT):
        return tf.reduce_sum(weights * values, axis=1)[:, :, tf.newaxis]
    return tf.matmul(weights, values, transpose_a=True)


def centered_slopes(values: tf.Tensor, means: tf.Tensor, upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor | None]:
    """`sum_d u_id (w_jd - (P w)_id)` of values w [B, n, d], means P w and u [B, r, d].

    As slopes [B, r, n], and factors of the rows [B, r] or None for 1.
    """
    if values.shape[2] == 1:
        return tf.linalg.matrix_transpose(values) - means, upstream[:, :, 0]
    # Differences of each row would take d times the memory of the matrix: values relative to one of them.
    reference = values[:, :1]
    slopes = tf.matmul(upstream, values - reference, transpose_b=True)
    return slopes - tf.reduce_sum(upstream * (means - reference), axis=-1, keepdims=True), None


def masked_logits(logits: tf.Tensor, mask: tf.Tensor | None, valid_rows: tf.Tensor | None) -> tf.Tensor:
    """`logits` [B, r, n] with masks; the softmax of them is the matrix.

    A valid row spreads over unmasked items, another row evenly over masked ones.
    """
    if mask is not None and valid_rows is not None:
        valid = valid_rows[:, :, tf.newaxis]
        logits = tf.where(valid, logits, tf.zeros_like(logits))
        excluded = tf.constant(-math.inf, logits.dtype)
        logits = tf.where(tf.equal(mask[:, tf.newaxis, :], valid), logits, excluded)
    return logits


def temperature_gradient(d_logits: LogitGradient, logits: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
    """The gradient of `tau` [B, 1] where logits are inverse to it: [B, 1]. Masked logits count for nothing."""
    finite = tf.where(tf.math.is_inf(logits), tf.zeros_like(logits), logits)
    return -tf.reduce_sum(d_logits.times(finite).row_sums(), axis=1, keepdims=True) / tau


def _softmax_gradient(weights: tf.Tensor, upstream: tf.Tensor) -> tf.Tensor:
    """The gradient of the logits of the softmax `weights`, every row summing to 0."""
    return weights * (upstream - row_sums(weights * upstream))


def _products_gradient(rows: RowLogits, slopes: tf.Tensor, factors: tf.Tensor | None) -> LogitGradient:
    """The gradient `factors_i slopes_ij` of the logits, 0 in rows of masked items."""
    slopes = _of_valid(rows, slopes)
    if factors is not None and rows.valid_rows is not None:
        factors = tf.where(rows.valid_rows, factors, tf.zeros_like(factors))
    return LogitGradient(slopes, factors)


def _of_valid(rows: RowLogits, d_logits: tf.Tensor) -> tf.Tensor:
    """The gradient of the logits [B, r, n], 0 in rows of masked items."""
    if rows.valid_rows is None:
        return d_logits
    return tf.where(rows.valid_rows[:, :, tf.newaxis], d_logits, tf.zeros_like(d_logits))


def _softmax(logits: tf.Tensor, peaks_at_zero: bool) -> tf.Tensor:
    if not (peaks_at_zero and is_at_most(logits.shape[2], SHORT)):
        return tf.nn.softmax(logits)
    weights = tf.exp(logits)
    return weights / tf.reduce_sum(weights, axis=2, keepdims=True)
