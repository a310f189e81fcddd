"""Soft permutations whose rows are softmaxes of logits: the matrix, its products, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.sorting._ordering import Lists

# (scores [B, n], tau [B, 1]) -> the logits [B, r, n], which are inverse to tau, with the largest of each row 0; and the
# function that turns a gradient of the logits, whose rows sum to 0, into tau times that of the scores [B, n].
Logits = Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]]


class SoftRows(NamedTuple):
    """The rows at some ranks of the soft permutation of each list."""

    lists: Lists
    ranks: tf.Tensor  # [B or 1, r] int32
    logits: Logits

    def matrix(self, log: bool = False) -> tf.Tensor:
        """The rows, or their logarithms, `excluded` where no weight is: [B, r, n]."""

        def rows(logits: tf.Tensor, weights: tf.Tensor) -> tuple:
            if log:
                return tf.nn.log_softmax(logits), lambda upstream: [upstream - weights * _row_sums(upstream)]
            return weights, lambda upstream: [_softmax_gradient(weights, upstream)]

        result = self._differentiable(rows)
        if self.lists.mask is None or not log:
            return result
        has_weight = tf.equal(self.lists.mask[:, tf.newaxis, :], self._are_valid())
        return tf.where(has_weight, result, excluded(result.dtype))

    def _are_valid(self) -> tf.Tensor:
        """Whether there is a valid item at each rank: [B, r, 1]."""
        return (self.ranks < self.lists.valid_counts())[:, :, tf.newaxis]

    def multiply(self, values: tf.Tensor) -> tf.Tensor:
        """The product with `values` [B, n, d]: [B, r, d]."""

        def product(_: tf.Tensor, weights: tf.Tensor, values: tf.Tensor) -> tuple:
            result = _rows_times(weights, values)

            def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
                # Centered once more, against the rounding of `result`.
                d_logits = _softmax_gradient(weights, _centered_slopes(values, result, upstream))
                return d_logits, _columns_times(weights, upstream)

            return result, gradient

        return self._differentiable(product, values)

    def multiply_transposed(self, values: tf.Tensor) -> tf.Tensor:
        """The product of the transpose with `values` [B, r, d]: [B, n, d]."""

        def product(_: tf.Tensor, weights: tf.Tensor, values: tf.Tensor) -> tuple:
            def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
                means = _rows_times(weights, upstream)
                return weights * _centered_slopes(upstream, means, values), means

            return _columns_times(weights, values), gradient

        return self._differentiable(product, values)

    def _differentiable(self, function: Callable[..., tuple], *values: tf.Tensor) -> tf.Tensor:
        """The result of a function of logits, weights and `values`, with its gradient for scores, tau and values.

        The function also returns one from an upstream gradient to those of the logits, whose rows sum to 0, and values.
        """

        @tf.custom_gradient
        def result(scores: tf.Tensor, tau: tf.Tensor, *values: tf.Tensor) -> tuple:
            logits, gradient_of_scores = self.logits(scores, tau)
            mask = self.lists.mask
            if mask is not None:  # a row of a valid item spreads over valid items, another row evenly over masked ones
                valid = self._are_valid()
                logits = tf.where(valid, logits, tf.zeros_like(logits))
                excluded = tf.constant(logits.dtype.min, logits.dtype)
                logits = tf.where(tf.equal(mask[:, tf.newaxis, :], valid), logits, excluded)
            found, gradient_of_function = function(logits, _softmax(logits), *values)

            def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, ...]:
                d_logits, *d_values = gradient_of_function(upstream)
                if mask is not None:
                    d_logits = tf.where(valid, d_logits, tf.zeros_like(d_logits))
                finite = tf.maximum(logits, tf.constant(logits.dtype.min, logits.dtype))
                d_tau = -tf.reduce_sum(tf.reduce_sum(d_logits * finite, axis=2), axis=1, keepdims=True) / tau
                return gradient_of_scores(d_logits) / tau, d_tau, *d_values

            return found, gradient

        return result(self.lists.scores, self.lists.tau, *values)


def _row_sums(values: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(values, axis=2, keepdims=True)


def _softmax(logits: tf.Tensor) -> tf.Tensor:
    """The softmax of rows whose largest logit is 0."""
    exponentials = tf.exp(logits)
    return exponentials / _row_sums(exponentials)


# A product with a vector is a sum of products. TensorFlow lets GPUs round the factors of its matrix product
# (TensorFloat-32). On lists of up to 16 items ranks take 1.4 to 1.6 times as long with it
# (benchmarks/operators/variants.py).
def _rows_times(weights: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Multiply the rows [B, r, n] by `values` [B, n, d]: [B, r, d]."""
    if values.shape[2] == 1:
        return _row_sums(weights * tf.linalg.matrix_transpose(values))
    return tf.matmul(weights, values)


def _columns_times(weights: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Multiply the columns of [B, r, n] by `values` [B, r, d]: [B, n, d]."""
    if values.shape[2] == 1:
        return tf.reduce_sum(weights * values, axis=1)[:, :, tf.newaxis]
    return tf.matmul(weights, values, transpose_a=True)


def _softmax_gradient(weights: tf.Tensor, upstream: tf.Tensor) -> tf.Tensor:
    """The gradient of the logits of the softmax `weights`. Every row sums to 0."""
    return weights * (upstream - _row_sums(weights * upstream))


def _centered_slopes(values: tf.Tensor, means: tf.Tensor, upstream: tf.Tensor) -> tf.Tensor:
    """`sum_d u_id (w_jd - (P w)_id)` of values w [B, n, d], means P w and u [B, r, d]: [B, r, n].

    A constant in a row does not change its softmax. Differences of close values are exact, products with them round.
    """
    if values.shape[2] == 1:
        return upstream * (tf.linalg.matrix_transpose(values) - means)
    # Differences of each row would take d times the memory of the matrix, so values are relative to one of them.
    reference = values[:, :1]
    slopes = tf.matmul(upstream, values - reference, transpose_b=True)
    return slopes - _row_sums(upstream * (means - reference))
