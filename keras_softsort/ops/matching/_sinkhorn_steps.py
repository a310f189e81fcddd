"""Sinkhorn iterations on scalings of a kernel and on potentials of logits, and their gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal.arguments import dtype_tiny
from keras_softsort.ops.core.numbers import sum_of_outer_products, vector_product
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.matching._sinkhorn_problem import Plan

# The exponential of this is finite in float32.
MAX_EXPONENT = 80.0
# The largest scaling is the inverse of this.
MIN_PRODUCT = {tf.float32: 1e-30, tf.float64: 1e-200}
TINY = {dtype: dtype_tiny(dtype) for dtype in MIN_PRODUCT}


class State(NamedTuple):
    """The state after an iteration: potentials or scalings, and the number of iterations of each matrix."""

    rows: tf.Tensor  # [B, N]
    columns: tf.Tensor  # [B, M]
    made: tf.Tensor  # int32 [B]: how many iterations a matrix makes in total, as far as is known

    def after(self, plan: Plan, t: Any, rows: tf.Tensor, columns: tf.Tensor, error: tf.Tensor | None) -> State:
        """The state after iteration t, or this one for matrices that stop. `error` [B] is of this state, if checked."""
        made = self.made
        if error is not None:
            converged = tf.logical_and(error <= plan.tolerance, t > 0)
            made = tf.where(converged, tf.minimum(made, t), made)
        if not plan.may_end:
            return State(rows, columns, made)
        is_made = (t < made)[:, tf.newaxis]
        return State(tf.where(is_made, rows, self.rows), tf.where(is_made, columns, self.columns), made)


class Gradients(NamedTuple):
    """The gradients of the problem, and of a state through the iterations after it."""

    logits: Any  # [B, N, M]: of logits, or of the kernel of scalings
    rows: tf.Tensor  # [B, N]: of potentials, or of logarithms of scalings
    columns: tf.Tensor  # [B, M]
    row_sums: tf.Tensor  # [B, N]
    column_sums: tf.Tensor  # [B, M]
    exponent: tf.Tensor  # [B, 1]


class Scalings(NamedTuple):
    """Iterations u = row_sums / (K v), v = column_sums / (K^T u) on a kernel K. The weights are u_i K_ij v_j."""

    kernel: tf.Tensor  # [B, N, M]
    row_sums: tf.Tensor  # [B, N]
    column_sums: tf.Tensor  # [B, M]

    def states(self, plan: Plan, first: Any, before: State) -> list[State]:
        """The states before iteration `first`, and after each iteration from there to the end of its segment."""
        states, least_rows, least_columns = [before], _least_products(self.row_sums), _least_products(self.column_sums)
        for t in range(plan.length):
            state = states[-1]
            products = vector_product(self.kernel, state.columns)
            u = self.row_sums / tf.maximum(products, least_rows)
            v = self.column_sums / tf.maximum(vector_product(self.kernel, u, transpose=True), least_columns)
            error = None
            if plan.tolerance is not None and not (plan.checks_segments and t):
                error = tf.reduce_max(tf.abs(state.rows * products - self.row_sums), axis=1)
            states.append(state.after(plan, first + t, u, v, error))
        return states

    def weights(self, state: State) -> tf.Tensor:
        """The weights [B, N, M] of a state."""
        return self.where_positive(state.rows[:, :, tf.newaxis] * self.kernel * state.columns[:, tf.newaxis, :])

    def reversed_states(self, plan: Plan, first: Any, states: list[State], gradients: Gradients) -> Gradients:
        """The gradients before `states`.

        For the gradient d of log v after an iteration, y = d / column_sums, and the column step adds -W_ij y_j to the
        gradient of log K_ij and -W y to that of log u, where W are the weights after it. The row step is alike.
        """
        d_kernel, d_u, d_v, d_row_sums, d_column_sums, d_exponent = gradients
        left, right = [], []
        for t in reversed(range(plan.length)):
            v_before, (u, v, made) = states[t].columns, states[t + 1]
            is_made = (first + t < made)[:, tf.newaxis]
            y = tf.math.divide_no_nan(_where_made(plan, is_made, d_v, tf.zeros_like(v)), self.column_sums)
            d_u_now = _where_made(plan, is_made, d_u - u * vector_product(self.kernel, v * y), tf.zeros_like(u))
            x = tf.math.divide_no_nan(d_u_now, self.row_sums)
            left += [u, u * x]
            right += [v * y, v_before]
            # Rows of a state act through the columns of the same iteration, or as the last ones. This is no constant 0,
            # which `tf.vectorized_map` cannot carry through a loop that begins with another gradient.
            d_u = tf.where(is_made, tf.zeros_like(d_u), d_u)
            d_v = _where_made(plan, is_made, -v_before * vector_product(self.kernel, u * x, transpose=True), d_v)
            d_row_sums, d_column_sums = d_row_sums + x, d_column_sums + y
        d_kernel -= sum_of_outer_products(left, right)
        return Gradients(d_kernel, d_u, d_v, d_row_sums, d_column_sums, d_exponent)

    def empty(self, plan: Plan, state: State) -> tuple[tuple, tuple]:
        """Tensors like the second and the third result of `segment`."""
        return (), (tf.stack([state.rows] * plan.length), tf.stack([state.columns] * (1 + plan.length)))

    def segment(self, plan: Plan, first: Any, before: State) -> tuple[State, tuple, tuple]:
        """The last state of a segment, its weights if the state lacks digits of them, and what `reverse` needs."""
        states = self.states(plan, first, before)
        kept = tf.stack([each.rows for each in states[1:]]), tf.stack([each.columns for each in states])
        return states[-1], (), kept

    def reverse(self, plan: Plan, first: Any, made: tf.Tensor, kept: tuple, gradients: Gradients) -> Gradients:
        """The gradients before a segment, from those after it."""
        rows, columns = map(tf.unstack, kept)
        # The rows before the segment are not read.
        states = [State(*pair, made) for pair in zip([rows[0], *rows], columns, strict=True)]
        return self.reversed_states(plan, first, states, gradients)

    def of_weights(self, weights: tf.Tensor, upstream: tf.Tensor) -> tf.Tensor:
        """The gradient of the kernel through weights with the scalings of the last state."""
        return tf.math.divide_no_nan(weights, self.kernel) * upstream

    def of_inputs(self, gradients: Gradients) -> tuple[tf.Tensor, ...]:
        """The gradients of the kernel and of the sums."""
        return self.where_positive(gradients.logits), gradients.row_sums, gradients.column_sums

    def where_positive(self, products: tf.Tensor) -> tf.Tensor:
        """The products [B, N, M] with the kernel where it is not 0. Elsewhere two scalings may overflow together."""
        return tf.where(self.kernel < TINY[self.kernel.dtype], tf.zeros_like(products), products)


class Potentials(NamedTuple):
    """Iterations on potentials f, g for any range of logits L. The weights are exp(L_ij + f_i + g_j).

    An iteration is f_i = rho (log row_sums_i - logsumexp_j(L_ij + g_j)), and alike for g. rho is 1 if sums must hold.

    Only the first iteration of a segment is computed like this. The weights after it are the kernel of the other
    iterations, which only update its scalings and so take less time. The rows of the kernel have at least 1 / N of the
    sums that they should have, and no later iteration changes a sum by more, which keeps the scalings of a segment
    within the range of float32. With a penalty there is no such bound, so a segment is one iteration.
    """

    logits: tf.Tensor  # [B, N, M]
    row_sums: tf.Tensor  # [B, N]
    column_sums: tf.Tensor  # [B, M]
    exponent: tf.Tensor | None = None  # rho, a scalar or [B, 1]; None for 1

    def empty(self, _: Plan, state: State) -> tuple[tuple, tuple]:
        """Tensors like the second and the third result of `segment`."""
        weights = (tf.zeros_like(self.logits),) if self.exponent is None else ()
        return weights, (state.columns,)

    def segment(self, plan: Plan, first: Any, before: State) -> tuple[State, tuple, tuple]:
        """Make a segment, as `Scalings.segment` does. `reverse` makes it again from the columns that are kept."""
        state, (_, kernel), states = self._states(plan, first, before)
        kept = (before.columns,)
        if self.exponent is not None:
            return state, (), kept
        (f, g, _), (u, v, made) = state, states[-1]
        least = dtype_tiny(u.dtype)  # for a scaling of 0, whose potential is `excluded`
        state = State(f + tf.math.log(tf.maximum(u, least)), g + tf.math.log(tf.maximum(v, least)), made)
        return state, (self._scalings(kernel).weights(states[-1]),), kept

    def weights(self, state: State) -> tf.Tensor:
        f, g, _ = state
        return tf.exp(self.logits + (f[:, :, tf.newaxis] + g[:, tf.newaxis, :]))

    def reverse(self, plan: Plan, first: Any, made: tf.Tensor, kept: tuple, gradients: Gradients) -> Gradients:
        """The gradients before a segment, from those after it."""
        before = State(tf.zeros_like(self.row_sums), kept[0], made)
        # It is known which iterations are made.
        (f, g, _), (row_weights, kernel), states = self._states(plan._replace(tolerance=None), first, before)
        d_logits = gradients.logits
        if plan.length > 1:
            scalings, rest = self._scalings(kernel), plan._replace(length=plan.length - 1)
            gradients = scalings.reversed_states(rest, first + 1, states, gradients._replace(logits=0.0))
            d_logits += scalings.where_positive(kernel * gradients.logits)
        _, d_f, d_g, d_row_sums, d_column_sums, d_exponent = gradients
        rho, is_made = (1.0 if self.exponent is None else self.exponent), (first < made)[:, tf.newaxis]
        y = rho * tf.math.divide_no_nan(_where_made(plan, is_made, d_g, tf.zeros_like(g)), self.column_sums)
        d_f_now = _where_made(plan, is_made, d_f - vector_product(kernel, y), tf.zeros_like(f))
        x = rho * tf.math.divide_no_nan(d_f_now, self.row_sums)
        if self.exponent is not None:
            # The gradient of a potential before the exponent is x row_sums / rho; for rho it is this times f / rho.
            terms = (x * self.row_sums * f, y * self.column_sums * g)
            d_exponent += tf.add_n([tf.reduce_sum(each, axis=1, keepdims=True) for each in terms]) / rho**2
        return Gradients(
            logits=d_logits - (kernel * y[:, tf.newaxis, :] + row_weights * x[:, :, tf.newaxis]),
            rows=tf.where(is_made, tf.zeros_like(d_f), d_f),
            columns=_where_made(plan, is_made, -vector_product(row_weights, x, transpose=True), d_g),
            row_sums=d_row_sums + x,
            column_sums=d_column_sums + y,
            exponent=d_exponent,
        )

    def of_weights(self, weights: tf.Tensor, upstream: tf.Tensor) -> tf.Tensor:
        """The gradient of the logits through weights with the last potentials."""
        return weights * upstream

    def of_inputs(self, gradients: Gradients) -> tuple[tf.Tensor, ...]:
        """The gradients of the logits, of the sums, and of an exponent."""
        of_all = gradients.logits, gradients.row_sums, gradients.column_sums
        if self.exponent is None:
            return of_all
        of_exponent = gradients.exponent
        return (*of_all, tf.reduce_sum(of_exponent) if self.exponent.shape.rank == 0 else of_exponent)

    def residual(self, weights: tf.Tensor, last: State) -> tf.Tensor:
        """The largest error [B] of a row sum. With an exponent, its largest change by half another iteration."""
        if self.exponent is not None:
            return self._change(last.rows, self._step(last.columns, self.row_sums, axis=2)[0])
        return tf.reduce_max(tf.abs(tf.reduce_sum(weights, axis=2) - self.row_sums), axis=1)

    def _states(self, plan: Plan, first: Any, before: State) -> tuple[State, tuple, list[State]]:
        """The state after the first iteration of a segment, the weights of its two steps, and the scalings after it.

        The rows of the first weights have the right sums, and the columns of the second ones, which are the kernel. The
        scalings begin with 1.
        """
        f, row_weights = self._step(before.columns, self.row_sums, axis=2)
        g, kernel = self._step(f, self.column_sums, axis=1)
        error = None if plan.tolerance is None else self._change(before.rows, f)
        state = before.after(plan, first, f, g, error)
        ones = State(tf.ones_like(f), tf.ones_like(g), state.made)
        states = self._scalings(kernel).states(plan._replace(length=plan.length - 1), first + 1, ones)
        return state, (row_weights, kernel), states

    def _scalings(self, kernel: tf.Tensor) -> Scalings:
        return Scalings(kernel, self.row_sums, self.column_sums)

    def _change(self, f: tf.Tensor, new_f: tf.Tensor) -> tf.Tensor:
        """The largest change [B] of a row sum from potentials f to the next iteration's."""
        right_f = new_f if self.exponent is None else new_f / self.exponent  # with which the sums would be right
        before, after = (tf.exp(tf.minimum(each - right_f, MAX_EXPONENT)) for each in (f, new_f))
        return tf.reduce_max(self.row_sums * tf.abs(after - before), axis=1)

    def _step(self, other: tf.Tensor, sums: tf.Tensor, axis: int) -> tuple[tf.Tensor, tf.Tensor]:
        """`rho (log(sums) - logsumexp(logits + other))` along an axis, and the weights that have these sums.

        Where a sum is 0, the potential is `excluded`.
        """
        logits = self.logits + tf.expand_dims(other, 3 - axis)
        peak = tf.reduce_max(logits, axis=axis, keepdims=True)
        exponentials = tf.exp(logits - peak)
        total = tf.reduce_sum(exponentials, axis=axis)
        is_used = sums > 0
        potential = tf.math.log(tf.where(is_used, sums, tf.ones_like(sums)) / total) - tf.squeeze(peak, axis)
        potential = tf.where(is_used, potential, excluded(potential.dtype))
        potential = potential if self.exponent is None else potential * self.exponent
        return potential, exponentials * tf.expand_dims(sums / total, axis)


def _least_products(sums: tf.Tensor) -> tf.Tensor:
    """The least numbers by which `sums` are divided. A scaling is then finite, and 0 where its sum is 0."""
    return tf.maximum(sums * MIN_PRODUCT[sums.dtype], TINY[sums.dtype])


def _where_made(plan: Plan, is_made: tf.Tensor, new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
    """`new` for matrices that make an iteration, and `old` for others. No operation if all make it."""
    return tf.where(is_made, new, old) if plan.may_end else new
