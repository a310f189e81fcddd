"""Sinkhorn as one differentiable function whose memory does not grow with the number of iterations."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal.arguments import dtype_tiny
from keras_softsort.ops.core.axes import ceil_division
from keras_softsort.ops.matching._sinkhorn_matrices import SinkhornMatrices
from keras_softsort.ops.matching._sinkhorn_plan import STORED, Plan, Reversal, State
from keras_softsort.ops.matching._sinkhorn_scan import scan
from keras_softsort.ops.matching._sinkhorn_solvers import Gradients, Potentials, Scalings, implicit_gradients


class Segment(NamedTuple):
    """Consecutive iterations, as the gradient needs them."""

    before: State
    states: list[State]  # after each
    kernel: tf.Tensor  # [B, N, M]: of the scalings among the states


class Sinkhorn(NamedTuple):
    """Sinkhorn iterations for any range of logits. The first of a segment is made on potentials, the state before it.

    The weights after it are a kernel, on whose scalings the others are made. Its rows have at least 1 / N of the sums
    that they should have, and no later iteration changes a sum by more, which keeps the scalings of a segment within
    the numbers of float32. Iterations on potentials alone take 1.3 to 3.1 times as long
    (benchmarks/operators/variants.py). With a penalty all are made so, since no kernel keeps its range.
    """

    potentials: Potentials

    def first(self) -> tuple[tf.Tensor, tf.Tensor]:
        """The potentials before the first iteration; those of the rows are never read."""
        return tf.zeros_like(self.potentials.matrices.rows), self.potentials.matrices.start

    def segment(self, plan: Plan, first: Any, before: State) -> tuple[State, tuple, Segment]:
        """The state and the weights [B, N, M] after the iterations from number `first` on, and these."""
        state, kernel = self.potentials.step(plan, first, before)
        states = [state]
        if self.potentials.matrices.exponent is not None:
            for t in range(1, plan.length):
                states.append(self.potentials.step(plan, first + t, states[-1])[0])
            return states[-1], (), Segment(before, states, kernel)
        scalings, unscaled = self._scalings(kernel), _unscaled(state)
        for t in range(1, plan.length):
            unscaled = scalings.step(plan, first + t, unscaled)
            states.append(unscaled)
        if plan.length == 1:
            return state, (kernel,), Segment(before, states, kernel)
        # The potentials lack digits that the kernel has.
        return _moved(state, unscaled), (scalings.weights(unscaled),), Segment(before, states, kernel)

    def weights(self, state: State) -> tf.Tensor:
        """The matrix [B, N, M] of a state."""
        return self.potentials.weights(state.rows, state.columns)

    def restored(self, before: State, states: list[State]) -> Segment:
        """A segment from its states."""
        return Segment(before, states, self.potentials.with_right_columns(states[0]))

    def reverse(self, reversal: Reversal, first: Any, segment: Segment, gradients: Gradients) -> Gradients:
        """The gradients before a segment."""
        states, kernel = segment.states, segment.kernel
        if self.potentials.matrices.exponent is not None:
            for t in reversed(range(1, len(states))):
                pair = states[t - 1], states[t]
                after = self.potentials.with_right_columns(states[t])
                gradients = self.potentials.reverse(reversal, first + t, pair, gradients, after=after)
            kernel = self.potentials.with_right_columns(states[0])
        elif len(states) > 1:
            scaled = [_unscaled(states[0]), *states[1:]]
            gradients = self._scalings(kernel).reverse(reversal, first + 1, scaled, gradients)
        return self.potentials.reverse(reversal, first, (segment.before, states[0]), gradients, after=kernel)

    def _scalings(self, kernel: tf.Tensor) -> Scalings:
        return Scalings(kernel, self.potentials.matrices.rows, self.potentials.matrices.columns)


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


def sinkhorn_weights(matrices: SinkhornMatrices, plan: Plan) -> tuple[tf.Tensor, tf.Tensor]:
    """The weights [B, N, M] after the iterations, and their largest error of a row sum [B], which has no gradient."""

    @tf.custom_gradient
    def weights(logits: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor, *exponents: tf.Tensor) -> tuple:
        exponent = exponents[0] if exponents else None
        potentials = Potentials(matrices._replace(logits=logits, rows=rows, columns=columns, exponent=exponent))
        run = _forward(Sinkhorn(potentials), plan)
        if exponent is None:
            error = tf.reduce_max(tf.abs(tf.reduce_sum(run.weights, axis=2) - rows), axis=1)
        else:
            error = potentials.error(run.last)

        def gradient(upstream: tf.Tensor, _: tf.Tensor) -> list[tf.Tensor]:
            if plan.has_implicit_gradient:
                return implicit_gradients(run.weights, upstream, plan.num_iterations)
            found = _backward(Sinkhorn(potentials), plan, run, upstream)
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


def _forward(solver: Sinkhorn, plan: Plan) -> Run:
    a, b = solver.first()
    state = State(a, b, tf.fill(tf.shape(a)[:1], plan.num_iterations))
    if not plan.is_loop:
        segments = []
        for index in range(plan.segments):
            state, weights, segment = solver.segment(plan, index * plan.length, state)
            segments.append(segment)
        return Run(weights[0] if weights else solver.weights(state), state, segments, ())

    def step(index: tf.Tensor, values: tuple) -> tuple[tuple, tuple]:
        before = State(*values[:3])
        after, weights, segment = solver.segment(plan, index * plan.length, before)
        # A matrix that had stopped keeps its digits.
        goes_on = (index * plan.length < after.made)[:, tf.newaxis, tf.newaxis]
        weights = tuple(tf.where(goes_on, new, old) for new, old in zip(weights, values[3:], strict=True))
        stored = [before, *segment.states][: _stored(plan)]
        return (*after, *weights), tuple(each for state in stored for each in (state.rows, state.columns))

    matrices = solver.potentials.matrices
    # With a penalty the weights follow from the state, which has their digits.
    carried = (tf.zeros_like(matrices.logits),) if matrices.exponent is None else ()
    values, states = scan(
        step,
        (*state, *carried),
        outputs_like=(a, b) * _stored(plan),
        length=plan.segments,
        is_running=lambda index, values: tf.reduce_any(index * plan.length < values[2]),
    )
    last, weights = State(*values[:3]), values[3:]
    return Run(weights[0] if weights else solver.weights(last), last, [], states)


def _stored(plan: Plan) -> int:
    """How many states of a segment are stored for the gradient."""
    if plan.has_implicit_gradient:
        return 0
    return 1 + plan.length if plan.num_iterations <= STORED else 1


def _backward(solver: Sinkhorn, plan: Plan, run: Run, upstream: tf.Tensor) -> Gradients:
    """The exact gradients of the iterations made."""
    d_logits = run.weights * upstream
    d_rows, d_columns = tf.reduce_sum(d_logits, axis=2), tf.reduce_sum(d_logits, axis=1)
    made = run.last.made
    reversal = Reversal(plan, d_rows, made)
    if not plan.is_loop:
        gradients = Gradients(d_logits, d_columns)
        for index in reversed(range(plan.segments)):
            gradients = solver.reverse(reversal, index * plan.length, run.segments[index], gradients)
        return gradients

    def step(index: tf.Tensor, gradients: tuple, *stored: tf.Tensor) -> tuple[tuple, tuple]:
        before, *states = (State(*pair, made) for pair in zip(stored[::2], stored[1::2], strict=True))
        if states:
            segment = solver.restored(before, states)
        else:
            _, _, segment = solver.segment(plan.replayed(), index * plan.length, before)
        return tuple(solver.reverse(reversal, index * plan.length, segment, Gradients(*gradients))), ()

    zeros = tf.zeros_like(d_rows), tf.zeros_like(d_columns), tf.zeros_like(d_columns[:, :1])
    last = ceil_division(tf.reduce_max(made), plan.length)
    found, _ = scan(step, (d_logits, d_columns, *zeros), run.states, length=plan.segments, reverse_from=last)
    return Gradients(*found)
