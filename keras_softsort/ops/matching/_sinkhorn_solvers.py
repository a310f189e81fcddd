"""Sinkhorn iterations on potentials and on scalings, segments of both, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal.arguments import dtype_tiny
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.matching._sinkhorn_matrices import SinkhornMatrices
from keras_softsort.ops.matching._sinkhorn_plan import Plan

# The exponential of this is finite in float32.
LARGEST_EXPONENT = 80.0
# A scaling is at most the inverse of this.
FLOOR = {tf.float32: 1e-30, tf.float64: 1e-200}
# Up to this many columns, products and sums are computed instead of batched matrix-vector products, which start slowly:
# without XLA these take 1.5 to 2.3 times as long for 8 to 32 columns (benchmarks/operators/variants.py).
SHORT = 32
# Up to this many columns, a gradient adds products of two vectors, and stacks none: a TPU writes each of a stack anew.
# For 64 matrices of 16 columns its compiler expects 24 us in place of 103 for 20 iterations (benchmarks/accelerators).
FEW = 16


class State(NamedTuple):
    """The state after an iteration: potentials or scalings, and the number of iterations of each matrix."""

    rows: tf.Tensor  # [B, N]
    columns: tf.Tensor  # [B, M]
    made: tf.Tensor  # int32 [B]: how many iterations a matrix makes in total, as far as is known

    def after(self, plan: Plan, t: Any, rows: tf.Tensor, columns: tf.Tensor, error: Callable[[], tf.Tensor]) -> State:
        """The state after iteration t, from 0; this state for matrices that stop. `error` [B] belongs to this state."""
        made = self.made
        if plan.tolerance is not None and not plan.is_replay:
            converged = tf.logical_and(error() <= plan.tolerance, t > 0)
            made = tf.where(converged, tf.minimum(made, t), made)
        if plan.may_end:
            is_made = (t < made)[:, tf.newaxis]
            rows, columns = tf.where(is_made, rows, self.rows), tf.where(is_made, columns, self.columns)
        return State(rows, columns, made)


class Reversal(NamedTuple):
    """The gradients that depend on whether a matrix makes iteration t, and whether it is the last."""

    plan: Plan
    rows: tf.Tensor  # [B, N]: the gradient of the rows of the last state
    made: tf.Tensor  # int32 [B]

    def with_last_rows(self, t: Any, gradient: tf.Tensor) -> tf.Tensor:
        """Add the gradient of the last rows, if t is the last. Other rows only act through the columns after them."""
        if self.plan.may_end or self.plan.is_loop:
            is_last = tf.equal(self.made, t + 1)[:, tf.newaxis]
            return gradient + tf.where(is_last, self.rows, tf.zeros_like(self.rows))
        return gradient + self.rows if t == self.plan.num_iterations - 1 else gradient

    def of_made(self, t: Any, gradient: tf.Tensor, otherwise: tf.Tensor | None = None) -> tf.Tensor:
        """The gradient where iteration t is made, and `otherwise` or 0 where it is not."""
        if not self.plan.may_end:
            return gradient
        otherwise = tf.zeros_like(gradient) if otherwise is None else otherwise
        return tf.where((t < self.made)[:, tf.newaxis], gradient, otherwise)


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
        width = self.kernel.shape[2]
        if width is not None and width <= FEW:
            pairs = zip(left, right, strict=True)
            terms = tf.add_n([one[:, :, tf.newaxis] * other[:, tf.newaxis, :] for one, other in pairs])
        else:
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
    width = kernel.shape[2]
    if width is not None and width <= SHORT:
        return tf.reduce_sum(kernel * tf.expand_dims(vectors, 3 - axis), axis=axis)
    return tf.linalg.matvec(kernel, vectors, transpose_a=axis == 1)


class Segment(NamedTuple):
    """Consecutive iterations, as the gradient needs them."""

    before: State
    states: list[State]  # after each
    kernel: tf.Tensor  # [B, N, M]: of the scalings among the states


class Potentials(NamedTuple):
    """Iterations on potentials f, g for any range of logits L. The weights are exp(L_ij + f_i + g_j).

    An iteration is f_i = rho (log rows_i - logsumexp_j(L_ij + g_j)), and alike for g. rho is 1 if the sums must hold.

    Only the first iteration of a segment is made so. The weights after it are a kernel, on whose scalings the others
    are made. Its rows have at least 1 / N of the sums that they should have, and no later iteration changes a sum by
    more, which keeps the scalings of a segment within the numbers of float32. Iterations on potentials alone take 1.3
    to 3.1 times as long (benchmarks/operators/variants.py). With a penalty all are made so, since no kernel keeps its
    range.
    """

    matrices: SinkhornMatrices

    def segment(self, plan: Plan, first: Any, before: State) -> tuple[State, tuple, Segment]:
        """The state and the weights [B, N, M] after the iterations from number `first` on, and these."""
        state, kernel = self.step(plan, first, before)
        states = [state]
        if self.matrices.exponent is not None:
            for t in range(1, plan.length):
                states.append(self.step(plan, first + t, states[-1])[0])
            return states[-1], (), Segment(before, states, kernel)
        scalings, unscaled = Scalings(kernel, self.matrices.rows, self.matrices.columns), _unscaled(state)
        for t in range(1, plan.length):
            unscaled = scalings.step(plan, first + t, unscaled)
            states.append(unscaled)
        if plan.length == 1:
            return state, (kernel,), Segment(before, states, kernel)
        # The potentials lack digits that the kernel has.
        return _moved(state, unscaled), (scalings.weights(unscaled),), Segment(before, states, kernel)

    def reverse_segment(self, reversal: Reversal, first: Any, segment: Segment, gradients: Gradients) -> Gradients:
        """The gradients before a segment."""
        before, states, kernel = segment
        if self.matrices.exponent is not None:
            for t in reversed(range(1, len(states))):
                pair = states[t - 1], states[t]
                after = self.with_right_columns(states[t])
                gradients = self.reverse(reversal, first + t, pair, gradients, after=after)
            kernel = self.with_right_columns(states[0])
        elif len(states) > 1:
            scalings = Scalings(kernel, self.matrices.rows, self.matrices.columns)
            gradients = scalings.reverse(reversal, first + 1, [_unscaled(states[0]), *states[1:]], gradients)
        return self.reverse(reversal, first, (before, states[0]), gradients, after=kernel)

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
            # The gradient of a potential before the exponent is x rows / rho; for rho it is this times f / rho.
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
        """The largest change [B] of a row sum from potentials f to the next iteration's."""
        right_f = self._unpenalized(new_f)  # the potentials that would make the sums right
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
    """The gradient of sums, from the gradient of their logarithms; 0 where the sum is 0."""
    return tf.math.divide_no_nan(gradient, sums)


def _unscaled(state: State) -> State:
    """The scalings of the weights of a state."""
    return State(tf.ones_like(state.rows), tf.ones_like(state.columns), state.made)


def _moved(state: State, scalings: State) -> State:
    """The potentials that include the scalings of a kernel."""
    least = dtype_tiny(scalings.rows.dtype)  # for a scaling of 0, whose potential is `excluded`
    f, g = (
        potential + tf.math.log(tf.maximum(scaling, least))
        for potential, scaling in ((state.rows, scalings.rows), (state.columns, scalings.columns))
    )
    return State(f, g, scalings.made)
