"""Sinkhorn as one differentiable function whose memory does not grow with the number of iterations."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops.matching._sinkhorn_matrices import SinkhornMatrices
from keras_softsort.ops.matching._sinkhorn_plan import Plan
from keras_softsort.ops.matching._sinkhorn_scan import scan
from keras_softsort.ops.matching._sinkhorn_solvers import Gradients, Potentials, Reversal, Segment, State

# Up to this many iterations the states after all of them are stored for the gradient. Of more, only those before
# segments are stored, and the gradient computes each segment again.
STORED = 64
# The residual, relative to the first, at which a solution is good enough for a gradient.
ENOUGH = {tf.float32: 1e-5, tf.float64: 1e-10}


def sinkhorn_weights(matrices: SinkhornMatrices, plan: Plan) -> tuple[tf.Tensor, tf.Tensor]:
    """The weights [B, N, M] after the iterations, and their largest error of a row sum [B], which has no gradient."""

    @tf.custom_gradient
    def weights(logits: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor, *exponents: tf.Tensor) -> tuple:
        exponent = exponents[0] if exponents else None
        potentials = Potentials(matrices._replace(logits=logits, rows=rows, columns=columns, exponent=exponent))
        run = _forward(potentials, plan)
        if exponent is None:
            error = tf.reduce_max(tf.abs(tf.reduce_sum(run.weights, axis=2) - rows), axis=1)
        else:
            error = potentials.error(run.last)

        def gradient(upstream: tf.Tensor, _: tf.Tensor) -> list[tf.Tensor]:
            if plan.has_implicit_gradient:
                return implicit_gradients(run.weights, upstream, plan.num_iterations)
            found = _backward(potentials, plan, run, upstream)
            d_exponents = [_summed_like(found.exponent, each) for each in exponents]
            return [found.logits, found.row_sums, found.column_sums, *d_exponents]

        return (run.weights, error), gradient

    exponents = [] if matrices.exponent is None else [matrices.exponent]
    return weights(matrices.logits, matrices.rows, matrices.columns, *exponents)


def _summed_like(gradient: tf.Tensor, exponent: tf.Tensor) -> tf.Tensor:
    """The gradient [B, 1] of an exponent that is [B, 1] or a scalar."""
    return tf.reduce_sum(gradient) if exponent.shape.rank == 0 else gradient


class Run(NamedTuple):
    """The iterations made."""

    weights: tf.Tensor  # [B, N, M]
    last: State
    segments: list[Segment]  # if they are not a loop
    # Rows and columns of states [segments, B, .] before each segment of a loop, then after each of their iterations.
    states: tuple[tf.Tensor, ...]


def _forward(potentials: Potentials, plan: Plan) -> Run:
    matrices = potentials.matrices
    # The row potentials before the first iteration are never read.
    a, b = tf.zeros_like(matrices.rows), matrices.start
    state = State(a, b, tf.fill(tf.shape(a)[:1], plan.num_iterations))
    if not plan.is_loop:
        segments = []
        for index in range(plan.segments):
            state, weights, segment = potentials.segment(plan, index * plan.length, state)
            segments.append(segment)
        return Run(weights[0] if weights else potentials.weights(state.rows, state.columns), state, segments, ())

    def step(index: tf.Tensor, values: tuple[State, tuple]) -> tuple[tuple, tuple]:
        before, last_weights = values
        after, weights, segment = potentials.segment(plan, index * plan.length, before)
        # A matrix that had stopped keeps its digits.
        goes_on = (index * plan.length < after.made)[:, tf.newaxis, tf.newaxis]
        weights = tuple(tf.where(goes_on, new, old) for new, old in zip(weights, last_weights, strict=True))
        stored = [before, *segment.states][: _stored(plan)]
        return (after, weights), tuple(each for state in stored for each in (state.rows, state.columns))

    # With a penalty the weights follow from the state, which has their digits.
    carried = (tf.zeros_like(matrices.logits),) if matrices.exponent is None else ()
    (last, weights), states = scan(
        step,
        (state, carried),
        outputs_like=(a, b) * _stored(plan),
        length=plan.segments,
        is_running=lambda index, values: tf.reduce_any(index * plan.length < values[0].made),
    )
    return Run(weights[0] if weights else potentials.weights(last.rows, last.columns), last, [], states)


def _stored(plan: Plan) -> int:
    """How many states of a segment are stored for the gradient."""
    if plan.has_implicit_gradient:
        return 0
    return 1 + plan.length if plan.num_iterations <= STORED else 1


def _backward(potentials: Potentials, plan: Plan, run: Run, upstream: tf.Tensor) -> Gradients:
    """The exact gradients of the iterations made."""
    d_logits = run.weights * upstream
    d_rows, d_columns = tf.reduce_sum(d_logits, axis=2), tf.reduce_sum(d_logits, axis=1)
    made = run.last.made
    reversal = Reversal(plan, d_rows, made)
    if not plan.is_loop:
        gradients = Gradients(d_logits, d_columns)
        for index in reversed(range(plan.segments)):
            gradients = potentials.reverse_segment(reversal, index * plan.length, run.segments[index], gradients)
        return gradients

    def step(index: tf.Tensor, gradients: tuple, *stored: tf.Tensor) -> tuple[tuple, tuple]:
        before, *states = (State(*pair, made) for pair in zip(stored[::2], stored[1::2], strict=True))
        if states:
            segment = Segment(before, states, potentials.with_right_columns(states[0]))
        else:
            _, _, segment = potentials.segment(plan._replace(is_replay=True), index * plan.length, before)
        return tuple(potentials.reverse_segment(reversal, index * plan.length, segment, Gradients(*gradients))), ()

    zeros = tf.zeros_like(d_rows), tf.zeros_like(d_columns), tf.zeros_like(d_columns[:, :1])
    last = (tf.reduce_max(made) + plan.length - 1) // plan.length
    found, _ = scan(step, (d_logits, d_columns, *zeros), run.states, length=plan.segments, reverse_from=last)
    return Gradients(*found)


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
