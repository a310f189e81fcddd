"""The gradient of Sinkhorn at convergence, from its matrix alone."""

from __future__ import annotations

import tensorflow as tf

# The residual, relative to the first, at which a solution is good enough for a gradient.
RESIDUAL = {tf.float32: 1e-5, tf.float64: 1e-10}


def implicit_gradients(weights: tf.Tensor, upstream: tf.Tensor, max_iterations: int) -> list[tf.Tensor]:
    """The gradients with respect to the logits [B, N, M], the row sums and the column sums.

    Weights P = exp(L_ij + f_i + g_j) with fixed sums move by dP = P * (dL_ij + df_i + dg_j), where df and dg keep the
    sums. So with upstream U the gradient of the logits is P * (U - a_i - b_j), and those of the sums are a and b, where

        rows a + P b = sum_j(P U),   P^T a + columns b = sum_i(P U).

    Without a this is a symmetric system for b, which conjugate gradients solve: their number grows as the square root
    of that of Sinkhorn iterations.
    """
    rows, columns = tf.reduce_sum(weights, axis=2), tf.reduce_sum(weights, axis=1)
    products = weights * upstream
    of_rows, of_columns = tf.reduce_sum(products, axis=2), tf.reduce_sum(products, axis=1)

    def from_rows(values: tf.Tensor) -> tf.Tensor:
        return tf.linalg.matvec(weights, tf.math.divide_no_nan(values, rows), transpose_a=True)

    def reduced(b: tf.Tensor) -> tf.Tensor:
        return columns * b - from_rows(tf.linalg.matvec(weights, b))

    residual = of_columns - from_rows(of_rows)
    enough = RESIDUAL[weights.dtype] ** 2 * _squared(residual, columns)

    def unfinished(_: tf.Tensor, __: tf.Tensor, residual: tf.Tensor, *others: tf.Tensor) -> tf.Tensor:
        del others
        return tf.reduce_any(_squared(residual, columns) > enough)

    def step(count: tf.Tensor, b: tf.Tensor, residual: tf.Tensor, direction: tf.Tensor) -> tuple[tf.Tensor, ...]:
        image, before = reduced(direction), _squared(residual, columns)
        length = tf.math.divide_no_nan(before, tf.reduce_sum(direction * image, axis=1, keepdims=True))
        # A solution that is good enough stays: rounding would spoil it.
        length = tf.where(before > enough, length, tf.zeros_like(length))
        residual -= length * image
        ratio = tf.math.divide_no_nan(_squared(residual, columns), before)
        return count + 1, b + length * direction, residual, tf.math.divide_no_nan(residual, columns) + ratio * direction

    start = (tf.constant(0), tf.zeros_like(columns), residual, tf.math.divide_no_nan(residual, columns))
    _, b, _, _ = tf.while_loop(unfinished, step, start, maximum_iterations=max_iterations)
    a = tf.math.divide_no_nan(of_rows - tf.linalg.matvec(weights, b), rows)
    return [weights * (upstream - a[:, :, tf.newaxis] - b[:, tf.newaxis, :]), a, b]


def _squared(residual: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """The squared length [B, 1] of a residual, each column relative to its sum."""
    return tf.reduce_sum(tf.math.divide_no_nan(tf.square(residual), columns), axis=1, keepdims=True)
