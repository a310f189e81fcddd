"""Sinkhorn iterations on potentials and on scalings, their gradients, and the gradient at convergence."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal.arguments import dtype_tiny
from keras_softsort.ops.core.axes import is_at_most
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.matching._sinkhorn_matrices import SinkhornMatrices
from keras_softsort.ops.matching._sinkhorn_plan import Plan, Reversal, State

# The exponential of this is finite in float32.
LARGEST_EXPONENT = 80.0
# A scaling is at most the inverse of this.
FLOOR = {tf.float32: 1e-30, tf.float64: 1e-200}
# Up to this many columns, products and sums are computed instead of batched matrix-vector products, which start slowly:
# without XLA these take 1.5 to 2.3 times as long for 8 to 32 columns (benchmarks/operators/variants.py).
SHORT = 32
# The residual, relative to the first, at which a solution is good enough for a gradient.
ENOUGH = {tf.float32: 1e-5, tf.float64: 1e-10}


class Gradients(NamedTuple):
    """The gradients of the problem, and of the columns of a state through the iterations after it."""

    logits: tf.Tensor  # [B, N, M]
    columns: tf.Tensor  # [B, M]: of potentials, or of logarithms of scalings
    row_sums: Any = 0.0  # [B, N]
    column_sums: Any = 0.0  # [B, M]
    exponent: Any = 0.0  # [B, 1]


class Scalings(NamedTuple):
    """Iterations u = rows / (K v), v = columns / (K^T u) on scalings of a kernel K. The weights are u_i K_ij v_j."""

    kernel: tf.Tensor  # [B, N, M]
    rows: tf.Tensor  # [B, N]: the sums
    columns: tf.Tensor  # [B, M]

    def step(self, plan: Plan, t: Any, state: State) -> State:
        products = times(self.kernel, state.columns)
        u = _scaling(self.rows, products)
        v = _scaling(self.columns, times(self.kernel, u, axis=1))

        def error() -> tf.Tensor:
            return tf.reduce_max(tf.abs(state.rows * products - self.rows), axis=1)

        return state.after(plan, t, u, v, error)

    def weights(self, state: State) -> tf.Tensor:
        """The matrix [B, N, M] of a state."""
        return self._of_pairs(state.rows[:, :, tf.newaxis] * self.kernel * state.columns[:, tf.newaxis, :])

    def reverse(self, reversal: Reversal, first: Any, states: list[State], gradients: Gradients) -> Gradients:
        """The gradients before the iterations from number `first` on; `states` are those before and after each.

        For the gradient d of log v after an iteration, y = d / columns, and the column step adds -W_ij y_j to the
        gradient of log K_ij and -W y to that of log u, where W are the weights after it. The row step is alike.
        """
        d_columns, d_row_sums, d_column_sums = gradients[1:4]
        left, right = [], []
        for i in reversed(range(len(states) - 1)):
            t, v_before, (u, v, _) = first + i, states[i].columns, states[i + 1]
            y = _over(reversal.of_made(t, d_columns), self.columns)
            x = _over(reversal.with_last_rows(t, -u * times(self.kernel, v * y)), self.rows)
            left += [u, u * x]
            right += [v * y, v_before]
            d_columns = reversal.of_made(t, -v_before * times(self.kernel, u * x, axis=1), d_columns)
            d_row_sums, d_column_sums = d_row_sums + x, d_column_sums + y
        terms = tf.matmul(tf.stack(left, axis=2), tf.stack(right, axis=1))
        return gradients._replace(
            logits=gradients.logits - self._of_pairs(self.kernel * terms),
            columns=d_columns,
            row_sums=d_row_sums,
            column_sums=d_column_sums,
        )

    def _of_pairs(self, products: tf.Tensor) -> tf.Tensor:
        """The products [B, N, M] with the kernel where it is not 0. Elsewhere two scalings may overflow together."""
        return tf.where(self.kernel >= dtype_tiny(self.kernel.dtype), products, tf.zeros_like(products))


def times(kernel: tf.Tensor, vectors: tf.Tensor, axis: int = 2) -> tf.Tensor:
    """A kernel [B, N, M] times `vectors` [B, M]: [B, N]; or, along axis 1, its transpose times [B, N]: [B, M]."""
    if is_at_most(kernel.shape[2], SHORT):
        return tf.reduce_sum(kernel * tf.expand_dims(vectors, 3 - axis), axis=axis)
    return tf.linalg.matvec(kernel, vectors, transpose_a=axis == 1)


class Potentials(NamedTuple):
    """Iterations on potentials f, g for any range of logits L. The weights are exp(L_ij + f_i + g_j).

    An iteration is f_i = rho (log rows_i - logsumexp_j(L_ij + g_j)), and alike for g. rho is 1 if the sums must hold.
    """

    matrices: SinkhornMatrices

    def step(self, plan: Plan, t: Any, state: State) -> tuple[State, tf.Tensor]:
        """The state after iteration t, and the weights [B, N, M] with columns of the right sums if it is made."""
        rows, columns = self.matrices.rows, self.matrices.columns
        f, _, _ = self._potential(state.columns, rows, axis=2)
        g, exponentials, total = self._potential(f, columns, axis=1)
        after = state.after(plan, t, f, g, lambda: self._change(state.rows, f))
        return after, exponentials * (columns / total)[:, tf.newaxis, :]

    def error(self, state: State) -> tf.Tensor:
        """The largest change [B] of a row sum by the first half of another iteration."""
        f, _, _ = self._potential(state.columns, self.matrices.rows, axis=2)
        return self._change(state.rows, f)

    def weights(self, f: tf.Tensor, g: tf.Tensor) -> tf.Tensor:
        """The matrix [B, N, M] of potentials."""
        return tf.exp(self.matrices.logits + (f[:, :, tf.newaxis] + g[:, tf.newaxis, :]))

    def reverse(
        self, reversal: Reversal, t: Any, states: tuple[State, State], gradients: Gradients, *, after: tf.Tensor
    ) -> Gradients:
        """The gradients before iteration t, as `Scalings.reverse`; `after` are the weights `with_right_columns`."""
        (_, g_before, _), (f, g, _) = states
        rho = self.matrices.exponent
        rows, columns = self.matrices.rows, self.matrices.columns
        # The weights after the row step, whose rows have the right sums.
        earlier = self.weights(self._unpenalized(f), g_before)
        y = self._penalized(_over(reversal.of_made(t, gradients.columns), columns))
        x = self._penalized(_over(reversal.with_last_rows(t, -tf.linalg.matvec(after, y)), rows))
        d_columns = -tf.linalg.matvec(earlier, x, transpose_a=True)
        d_exponent = gradients.exponent
        if rho is not None:
            # The gradient of a potential before the exponent is x rows / rho, and that of rho this times f / rho.
            of_rho = [tf.reduce_sum(each, axis=1, keepdims=True) for each in (x * rows * f, y * columns * g)]
            d_exponent += (of_rho[0] + of_rho[1]) / rho**2
        return Gradients(
            logits=gradients.logits - (after * y[:, tf.newaxis, :] + earlier * x[:, :, tf.newaxis]),
            columns=reversal.of_made(t, d_columns, gradients.columns),
            row_sums=gradients.row_sums + x,
            column_sums=gradients.column_sums + y,
            exponent=d_exponent,
        )

    def with_right_columns(self, state: State) -> tf.Tensor:
        """The weights of a state whose columns have the right sums: before the exponent of its column potentials."""
        return self.weights(state.rows, self._unpenalized(state.columns))

    def _potential(self, other: tf.Tensor, marginal: tf.Tensor, axis: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """`rho (log(marginal) - logsumexp(logits + other))` along an axis; `excluded` where the marginal is 0.

        Also the exponentials [B, N, M], relative to the largest along the axis, and their sums.
        """
        logits = self.matrices.logits + tf.expand_dims(other, 3 - axis)
        peak = tf.reduce_max(logits, axis=axis, keepdims=True)
        exponentials = tf.exp(logits - peak)
        total = tf.reduce_sum(exponentials, axis=axis)
        is_used = marginal > 0
        potential = tf.math.log(tf.where(is_used, marginal, tf.ones_like(marginal)) / total) - tf.squeeze(peak, axis)
        potential = self._penalized(tf.where(is_used, potential, excluded(potential.dtype)))
        return potential, exponentials, total

    def _change(self, f: tf.Tensor, new_f: tf.Tensor) -> tf.Tensor:
        """The largest change [B] of a row sum from potentials f to those of the next iteration."""
        right_f = self._unpenalized(new_f)  # those that would make the sums right
        before, after = (tf.exp(tf.minimum(each - right_f, LARGEST_EXPONENT)) for each in (f, new_f))
        return tf.reduce_max(self.matrices.rows * tf.abs(after - before), axis=1)

    def _penalized(self, potential: tf.Tensor) -> tf.Tensor:
        exponent = self.matrices.exponent
        return potential if exponent is None else potential * exponent

    def _unpenalized(self, potential: tf.Tensor) -> tf.Tensor:
        exponent = self.matrices.exponent
        return potential if exponent is None else potential / exponent


def _scaling(sums: tf.Tensor, products: tf.Tensor) -> tf.Tensor:
    """The scalings with which the products become the sums; 0 where the sum is 0."""
    return sums / tf.maximum(products, tf.maximum(sums * FLOOR[sums.dtype], dtype_tiny(sums.dtype)))


def _over(gradient: tf.Tensor, sums: tf.Tensor) -> tf.Tensor:
    """The gradient of sums from that of the logarithm; 0 where the sum is 0."""
    return tf.math.divide_no_nan(gradient, sums)


def implicit_gradients(weights: tf.Tensor, upstream: tf.Tensor, max_iterations: int) -> list[tf.Tensor]:
    """The gradients with respect to the logits [B, N, M], the row sums and the column sums.

    Weights P = exp(L_ij + f_i + g_j) with fixed sums move by dP = P * (dL_ij + df_i + dg_j), where df and dg keep the
    sums. So with upstream U the gradient of the logits is P * (U - a_i - b_j), and those of the sums are a and b, where

        rows a + P b = sum_j(P U),   P^T a + columns b = sum_i(P U).

    Without a this is a symmetric system for b, which conjugate gradients solve in fewer steps than Sinkhorn's.
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
