"""The two ways to iterate Sinkhorn, products with one kernel or logarithms, and its gradient at convergence.

A solver holds the matrices. Its state after an iteration is a tensor of rows [B, N] and a tensor of columns [B, M].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.lists import excluded, is_at_most
from keras_softsort.ops.matching._sinkhorn_matrices import SinkhornMatrices

# The largest range of the logits, relative to the maxima of rows and columns, for which no scaling and no sum over- or
# underflows. Potentials differ by up to three times this from those of the limit.
MAX_RANGE = {tf.float32: 24.0, tf.float64: 200.0}
# Up to this many columns, products and sums are computed instead of batched matrix-vector products, which start slowly:
# without XLA these take 1.6 to 2.3 times as long for 8 to 32 columns (benchmarks/variants.py).
SHORT = 32
# The residual, relative to the first, at which a solution is good enough for a gradient.
ENOUGH = {tf.float32: 1e-5, tf.float64: 1e-10}

Outputs = tuple[tf.Tensor, ...]


class Scalings(NamedTuple):
    """Iterations on scalings u, v of the kernel K = exp(logits).

    The weights are u_i K_ij v_j, and an iteration is u = rows / (K v), v = columns / (K^T u). No iteration takes an
    exponential of the matrix.
    """

    matrices: SinkhornMatrices  # with marginals in the dtype of the kernel
    kernel: tf.Tensor  # [B, N, M]
    start: tf.Tensor  # [B, M]: the column scaling before the first iteration

    def first(self) -> tuple[tf.Tensor, tf.Tensor]:
        """The scalings before the first iteration; that of the rows is never read."""
        return tf.ones_like(self.matrices.rows), self.start

    def step(self, u: tf.Tensor, v: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The largest error [B] of a row sum before an iteration, and the scalings after it."""
        products = self._times(v)
        new_u = tf.math.divide_no_nan(self.matrices.rows, products)
        new_v = tf.math.divide_no_nan(self.matrices.columns, self._times(new_u, axis=1))
        return self.matrices.row_error(u * products), new_u, new_v

    def weights(self, u: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
        """The matrix [B, N, M] of a state."""
        return u[:, :, tf.newaxis] * self.kernel * v[:, tf.newaxis, :]

    def reverse(
        self, d_logits: tf.Tensor, d_rows: tf.Tensor, d_columns: tf.Tensor, *states: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, Outputs]:
        """Reverse an iteration: the gradients of the logits and of log v before it, given those of its results.

        `states` are u and v after it, and v before it. With y = d_columns / columns, the gradient of the column step
        with respect to the logits is -W_ij y_j, and with respect to log u it is -W y, where W are the weights after
        it. The row step is alike. `finish` subtracts the terms of all iterations in one matrix product.
        """
        u, v, v_before = states
        y = v * tf.math.divide_no_nan(d_columns, self.matrices.columns)
        x = u * tf.math.divide_no_nan(d_rows - u * self._times(y), self.matrices.rows)
        return d_logits, -v_before * self._times(x, axis=1), (x, y)

    def finish(self, d_logits: tf.Tensor, states: Outputs, outputs: Outputs) -> Outputs:
        """The gradients of the logits, rows and columns after `reverse` of several iterations.

        Their states and outputs are [T, B, .].
        """
        (u, v, v_before), (x, y) = states, outputs
        terms = tf.einsum("tbn,tbm->bnm", tf.concat([u, x], axis=0), tf.concat([y, v_before], axis=0))
        d_rows, d_columns = (tf.reduce_sum(tf.math.divide_no_nan(*each), axis=0) for each in ((x, u), (y, v)))
        return d_logits - self.kernel * terms, d_rows, d_columns

    def _times(self, vectors: tf.Tensor, axis: int = 2) -> tf.Tensor:
        """The kernel times `vectors` [B, M]: [B, N]; or, along axis 1, its transpose times [B, N]: [B, M]."""
        if is_at_most(self.kernel.shape[2], SHORT):
            return tf.reduce_sum(self.kernel * tf.expand_dims(vectors, 3 - axis), axis=axis)
        return tf.linalg.matvec(self.kernel, vectors, transpose_a=axis == 1)


class Potentials(NamedTuple):
    """Iterations on float64 potentials f, g, for any range of logits L, including -inf.

    The weights are exp(L_ij + f_i + g_j), and an iteration is f_i = rho (log rows_i - logsumexp_j(L_ij + g_j)),
    g_j = rho (log columns_j - logsumexp_i(L_ij + f_i)). The exponent rho is 1 if the sums must hold.
    Scores of 1e4 with a tau of 1e-3 give logits for which float32 numbers are 1 apart. Exponentials are computed in the
    dtype of the scores, since their arguments are small.
    Iterations take 1.7 to 6 times as long as those on float64 scalings (benchmarks/variants.py).
    """

    matrices: SinkhornMatrices

    def first(self) -> tuple[tf.Tensor, tf.Tensor]:
        """The potentials before the first iteration; that of the rows is never read."""
        return tf.zeros_like(self.matrices.rows, tf.float64), tf.zeros_like(self.matrices.columns, tf.float64)

    def step(self, f: tf.Tensor, g: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The largest error [B] of a row sum before an iteration, and the potentials after it.

        The error is the change that the step of the rows makes: to the sum that a row should have, if it must hold.
        """
        rows, columns = self.matrices.rows, self.matrices.columns
        new_f = self._potential(self._logits(tf.zeros_like(f), g), rows, axis=2)
        new_g = self._potential(self._logits(new_f, tf.zeros_like(g)), columns, axis=1)
        # Potentials that would make the sums right, which is what they are if the sums must hold.
        right_f = self._unpenalized(new_f)
        before, after = (rows * tf.exp(tf.cast(each - right_f, rows.dtype)) for each in (f, new_f))
        return tf.reduce_max(tf.abs(after - before), axis=-1), new_f, new_g

    def weights(self, f: tf.Tensor, g: tf.Tensor) -> tf.Tensor:
        """The matrix [B, N, M] of a state."""
        return self._exponentials(self._logits(f, g), self.matrices.scores.dtype)

    def reverse(
        self, d_logits: tf.Tensor, d_rows: tf.Tensor, d_columns: tf.Tensor, *states: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, Outputs]:
        """Reverse an iteration, as `Scalings.reverse`; `states` are f and g after it, and g before it."""
        f, g, g_before = states
        # `after` has the weights after the column step, with the right column sums; `before` those after the row step.
        after, before = self.weights(f, self._unpenalized(g)), self.weights(self._unpenalized(f), g_before)
        y = self._penalized(tf.math.divide_no_nan(d_columns, self.matrices.columns))
        x = self._penalized(tf.math.divide_no_nan(d_rows - tf.linalg.matvec(after, y), self.matrices.rows))
        d_logits -= after * y[:, tf.newaxis, :] + before * x[:, :, tf.newaxis]
        return d_logits, -tf.linalg.matvec(before, x, transpose_a=True), (x, y)

    def finish(self, d_logits: tf.Tensor, states: Outputs, outputs: Outputs) -> Outputs:
        """The gradients of the logits, rows and columns, and with an exponent its gradient [B, 1]."""
        (f, g, _), (x, y) = states, outputs
        gradients = d_logits, tf.reduce_sum(x, axis=0), tf.reduce_sum(y, axis=0)
        if self.matrices.exponent is None:
            return gradients
        rows, columns = self.matrices.rows, self.matrices.columns
        # The gradient of a potential before the exponent is x rows / rho, and that of the exponent this times f / rho.
        d_f, d_g = (
            tf.reduce_sum(each * sums * tf.cast(potential, each.dtype), axis=[0, 2])
            for each, sums, potential in ((x, rows, f), (y, columns, g))
        )
        return *gradients, (d_f + d_g)[:, tf.newaxis] / tf.cast(self.matrices.exponent**2, d_f.dtype)

    def _logits(self, f: tf.Tensor, g: tf.Tensor) -> tf.Tensor:
        """[B, N, M] float64, never stored where XLA fuses it; any number for a forbidden entry."""
        matrices = self.matrices
        logits = matrices.row_centered(tf.float64) * matrices.inverse_tau
        return logits + (f[:, :, tf.newaxis] + g[:, tf.newaxis, :])

    def _exponentials(self, logits: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        """The exponentials of the logits, 0 for forbidden entries."""
        return tf.exp(tf.where(self.matrices.is_allowed, tf.cast(logits, dtype), excluded(dtype)))

    def _potential(self, logits: tf.Tensor, marginal: tf.Tensor, axis: int) -> tf.Tensor:
        """The potential rho (log(marginal) - logsumexp(logits)); 0 where the marginal is 0."""
        peak = self.matrices.peak(logits, axis)
        total = tf.reduce_sum(self._exponentials(logits - peak, marginal.dtype), axis=axis)
        ratio = tf.where(marginal > 0, total / tf.where(marginal > 0, marginal, 1), tf.ones_like(total))
        return self._penalized(-tf.squeeze(peak, axis) - tf.math.log(tf.cast(ratio, tf.float64)))

    def _penalized(self, potential: tf.Tensor) -> tf.Tensor:
        exponent = self.matrices.exponent
        return potential if exponent is None else potential * tf.cast(exponent, potential.dtype)

    def _unpenalized(self, potential: tf.Tensor) -> tf.Tensor:
        exponent = self.matrices.exponent
        return potential if exponent is None else potential / exponent


Solver = Scalings | Potentials


def solvers_by_speed(matrices: SinkhornMatrices) -> list[tuple[tf.Tensor | None, Callable[[], Solver]]]:
    """The solvers, the fastest first, each with the condition under which it fits all matrices.

    float32 scalings take 0.2 to 0.8 of the time of float64 ones, which take 0.1 to 0.4 of the time of potentials.
    With a penalty the level of the logits matters, which scalings leave out.
    """
    if matrices.exponent is not None:
        return [(None, lambda: Potentials(matrices))]
    largest, own = _logit_range(matrices) + matrices.sum_range, matrices.scores.dtype
    solvers: list[tuple] = [(largest <= MAX_RANGE[own], lambda: _scalings(matrices, own))]
    if own != tf.float64:
        solvers.append((largest <= MAX_RANGE[tf.float64], lambda: _scalings(matrices, tf.float64)))
    return [*solvers, (None, lambda: Potentials(matrices))]


def _scalings(matrices: SinkhornMatrices, dtype: tf.DType) -> Scalings:
    """The solver with a kernel in `dtype`, whose entries are at most 1."""
    exponents, level = _exponents(matrices, dtype)
    kernel = tf.where(matrices.is_allowed, tf.exp(exponents), tf.zeros_like(exponents))
    marginals = {"rows": tf.cast(matrices.rows, dtype), "columns": tf.cast(matrices.columns, dtype)}
    return Scalings(matrices._replace(**marginals), kernel, tf.exp(level))


def _logit_range(matrices: SinkhornMatrices) -> tf.Tensor:
    """The largest distance of a logit below the maxima of its row and column; very large with a forbidden one."""
    exponents, _ = _exponents(matrices, matrices.scores.dtype)
    largest = -tf.reduce_min(exponents)
    valid = tf.logical_and(matrices.rows[:, :, tf.newaxis] > 0, matrices.columns[:, tf.newaxis, :] > 0)
    has_forbidden_entries = tf.reduce_any(tf.not_equal(matrices.is_allowed, valid))
    return tf.where(has_forbidden_entries, tf.constant(largest.dtype.max, largest.dtype), largest)


def _exponents(matrices: SinkhornMatrices, dtype: tf.DType) -> tuple[tf.Tensor, tf.Tensor]:
    """The logits [B, N, M] less the maxima of rows and columns, and the latter [B, M]; 0 where masked."""
    logits = matrices.row_centered(dtype) * tf.cast(matrices.inverse_tau, dtype)
    level = matrices.peak(logits, axis=1)
    return tf.where(matrices.is_allowed, logits - level, tf.zeros_like(logits)), level[:, 0]


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
    enough = ENOUGH[weights.dtype] ** 2 * _squared(residual, columns)

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
