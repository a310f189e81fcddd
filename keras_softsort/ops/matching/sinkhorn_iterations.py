"""Sinkhorn as one differentiable function whose memory does not grow with the number of iterations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.core.lists import flatten_lists
from keras_softsort.ops.matching._sinkhorn_matrices import SinkhornMatrices, unit_matrices
from keras_softsort.ops.matching._sinkhorn_solvers import Scalings, Solver, implicit_gradients, solvers_by_speed

# Up to this many iterations the state after each is stored for the gradient. More are cut into segments of this many,
# or of the square root of their number if that is more. Only the states before segments are stored, which keeps the
# memory of many iterations small, and the gradient computes each segment again.
SEGMENT = 64

State = tuple[tf.Tensor, ...]


class Plan(NamedTuple):
    """The plan of iterations: `segments` of `length`, at most `num_iterations` in total."""

    num_iterations: int
    tolerance: float | None
    has_implicit_gradient: bool = False  # which needs no states of iterations

    @property
    def length(self) -> int:
        """The number of iterations in a segment."""
        if self.has_implicit_gradient:
            return self.num_iterations
        return min(self.num_iterations, max(SEGMENT, math.isqrt(self.num_iterations - 1) + 1))

    @property
    def segments(self) -> int:
        """The number of segments; the states before each are stored if there are several."""
        return -(-self.num_iterations // self.length)


def checked_plan(*, num_iterations: Any, tolerance: Any, implicit_gradient: Any = False) -> Plan:
    """Check the arguments of a plan."""
    return Plan(
        num_iterations=arguments.positive_integer("num_iterations", num_iterations),
        tolerance=None if tolerance is None else arguments.non_negative_number("tolerance", tolerance),
        has_implicit_gradient=arguments.boolean("implicit_gradient", implicit_gradient),
    )


def sinkhorn_weights(matrices: SinkhornMatrices, plan: Plan) -> tuple[tf.Tensor, tf.Tensor]:
    """The weights [B, N, M] after the iterations, and their largest error of a row sum [B].

    The weights are differentiable with respect to the scores, tau, the sums and the exponent.
    """

    @tf.custom_gradient
    def weights(scores: tf.Tensor, inverse_tau: tf.Tensor, *sums: tf.Tensor) -> tuple:
        differentiable = dict(zip(("rows", "columns", "exponent"), sums, strict=False))
        given = matrices._replace(scores=scores, inverse_tau=inverse_tau, **differentiable)
        solvers = solvers_by_speed(given)
        # All solvers return states of one dtype.
        result, error, *run = _with_first_that_fits(solvers, lambda solver: _forward(solver, plan, tf.float64))

        def gradient(upstream: tf.Tensor, _: tf.Tensor) -> tuple[tf.Tensor, ...]:
            if plan.has_implicit_gradient:
                d_logits, *d_sums = implicit_gradients(result, upstream, plan.num_iterations)
            else:
                d_logits, *d_sums = _with_first_that_fits(
                    solvers, lambda solver: _backward(solver, plan, run, upstream)
                )
            d_scores = d_logits * tf.cast(inverse_tau, d_logits.dtype)
            # If sums must hold, the rows of the gradient sum to 0, so scores relative to their row have the same
            # gradient and more precision.
            products = d_logits * given.row_centered(d_logits.dtype)
            return d_scores, _summed_like(products, inverse_tau), *map(_summed_like, d_sums, sums)

        return (result, error), gradient

    exponent = [] if matrices.exponent is None else [matrices.exponent]
    return weights(matrices.scores, matrices.inverse_tau, matrices.rows, matrices.columns, *exponent)


def _summed_like(tensor: tf.Tensor, template: tf.Tensor) -> tf.Tensor:
    """Sum `tensor` over the axes along which `template`, a scalar or of the same rank, has the size 1."""
    rank = template.shape.rank
    axes = [axis for axis in range(tensor.shape.rank) if not rank or (template.shape[axis] == 1 and axis > 0)]
    return tf.cast(tf.reduce_sum(tensor, axis=axes, keepdims=bool(rank)) if axes else tensor, template.dtype)


def doubly_stochastic(weights: tf.Tensor, num_iterations: int, tolerance: float) -> tf.Tensor:
    """Normalize soft permutations [..., n, n], whose rows sum to 1, until their columns sum to 1 as well.

    A matrix stops once its row sums are within `tolerance` of 1. The gradient is that of the iterations made. A block
    of masked rows and items needs no mask, if it is a soft permutation of its own.

    Every row and every column of a soft permutation has its largest weight at a pair of its own. So scalings stay
    moderate: for NeuralSort and SoftSort of any scores and temperature, a row and a column scaling multiply to at most
    about n. float32 is enough, and weights that underflow do not matter.
    """
    plan = Plan(num_iterations, tolerance)

    @tf.custom_gradient
    def normalized(kernel: tf.Tensor) -> tuple:
        matrices = unit_matrices(kernel)
        solver = Scalings(matrices, kernel, matrices.columns)
        result, _, *run = _forward(solver, plan, kernel.dtype)

        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            return tf.math.divide_no_nan(_backward(solver, plan, run, upstream)[0], kernel)

        return result, gradient

    result = normalized(flatten_lists(weights, inner=2))
    return tf.ensure_shape(tf.reshape(result, tf.shape(weights)), weights.shape)


def _with_first_that_fits(solvers: list[tuple], compute: Callable[[Solver], list]) -> list[tf.Tensor]:
    (fits, make), *others = solvers
    if not others:
        return compute(make())
    # Not a `switch_case`, which `tf.vectorized_map` cannot convert.
    return tf.cond(fits, lambda: compute(make()), lambda: _with_first_that_fits(others, compute))


def _forward(solver: Solver, plan: Plan, dtype: tf.DType) -> list[tf.Tensor]:
    """Return the weights, their error, the last state, the history of states, and the number of iterations made [B].

    The history holds the states after each iteration, or before each segment if there are several. States are returned
    in `dtype`.
    """
    state = (*solver.first(), tf.fill(tf.shape(solver.matrices.failed), plan.num_iterations))
    if plan.segments == 1:
        state, history = _segment(solver, plan, 0, state, stored=not plan.has_implicit_gradient)
    else:

        def segment(index: tf.Tensor, state: State) -> tuple[State, State]:
            return _segment(solver, plan, index * plan.length, state, stored=False)[0], state[:2]

        state, history = _scan(
            segment,
            state,
            outputs_like=state[:2],
            length=plan.segments,
            is_running=lambda index, state: tf.reduce_any(index * plan.length < state[2]),
        )
    a, b, num_iterations_made = state
    matrices = solver.matrices
    result = tf.cast(solver.weights(a, b), matrices.scores.dtype)
    row_sums = tf.cast(tf.reduce_sum(result, axis=2), matrices.rows.dtype)
    error = matrices.row_error(row_sums) if matrices.exponent is None else solver.step(a, b)[0]
    states = (tf.cast(each, dtype) for each in (a, b, *history))
    return [result, tf.cast(error, result.dtype), *states, num_iterations_made]


def _segment(solver: Solver, plan: Plan, start: Any, state: State, *, stored: bool) -> tuple[State, State]:
    """The iterations from number `start` on, and the states after each if `stored`."""
    # Without a tolerance, only the last of several segments may hold more iterations than are made.
    may_end = plan.tolerance is not None or plan.segments > 1

    def step(t: Any, state: State) -> tuple[State, State]:
        a, b, num_iterations_made = state
        error, new_a, new_b = solver.step(a, b)
        if plan.tolerance is not None:
            converged = tf.logical_and(error <= plan.tolerance, start + t > 0)
            num_iterations_made = tf.where(converged, tf.minimum(num_iterations_made, start + t), num_iterations_made)
        if may_end:
            is_made = (start + t < num_iterations_made)[:, tf.newaxis]
            new_a, new_b = tf.where(is_made, new_a, a), tf.where(is_made, new_b, b)
        return (new_a, new_b, num_iterations_made), (new_a, new_b) if stored else ()

    return _scan(
        step,
        state,
        outputs_like=state[:2] if stored else (),
        length=plan.length,
        is_running=(lambda t, state: tf.reduce_any(start + t < state[2])) if may_end else None,
    )


def _backward(solver: Solver, plan: Plan, run: list[tf.Tensor], upstream: tf.Tensor) -> list[tf.Tensor]:
    """The exact gradients of the iterations made: of the logits [B, N, M], the sums, and an exponent."""
    *states, num_iterations_made = run
    first = solver.first()
    a, b, *history = (tf.cast(each, first[0].dtype) for each in states)
    d_logits = solver.weights(a, b)
    d_logits *= tf.cast(upstream, d_logits.dtype)
    d_rows, d_columns = tf.reduce_sum(d_logits, axis=2), tf.reduce_sum(d_logits, axis=1)

    def reverse_segment(start: Any, b_before: tf.Tensor, after: State, gradients: State) -> State:
        a, b = after
        states = a, b, tf.concat([b_before[tf.newaxis], b[:-1]], axis=0)
        return _reverse(solver, states, num_iterations_made - start, d_rows, gradients)

    matrices = solver.matrices
    exponent = () if matrices.exponent is None else (tf.zeros_like(d_columns[:, :1]),)
    gradients = d_logits, d_columns, tf.zeros_like(d_rows), tf.zeros_like(d_columns), *exponent
    if plan.segments == 1:
        gradients = reverse_segment(0, first[1], tuple(history), gradients)
    else:

        def segment(index: tf.Tensor, gradients: State, a: tf.Tensor, b: tf.Tensor) -> tuple[State, State]:
            start = index * plan.length
            _, after = _segment(solver, plan, start, (a, b, num_iterations_made), stored=True)
            return reverse_segment(start, b, after, gradients), ()

        made = -(-tf.reduce_max(num_iterations_made) // plan.length)
        gradients, _ = _scan(segment, gradients, tuple(history), length=plan.segments, reverse_from=made)
    d_logits, _, *d_sums = gradients
    return [tf.cast(each, upstream.dtype) for each in (d_logits, *d_sums)]


def _reverse(solver: Solver, states: State, num_iterations: tf.Tensor, d_rows: tf.Tensor, gradients: State) -> State:
    """Reverse consecutive iterations, and return the gradients.

    They are those of the logits [B, N, M], the column state before, the rows, the columns, and an exponent.
    `states` are the row and column states after each iteration and the column states before it, each [T, B, .].
    `num_iterations` [B] is the number of iterations that a matrix makes from the first of these on. `d_rows` [B, N] is
    the gradient of the row state after the last one.
    """

    def reverse_step(t: Any, gradients: State, *states: tf.Tensor) -> tuple[State, State]:
        d_logits, d_columns = gradients
        left = (num_iterations - t)[:, tf.newaxis]
        # A row state before the last one only acts through the next column state.
        d_last = tf.where(tf.equal(left, 1), d_rows, tf.zeros_like(d_rows))
        d_made = tf.where(left > 0, d_columns, tf.zeros_like(d_columns))
        d_logits, before, outputs = solver.reverse(d_logits, d_last, d_made, *states)
        return (d_logits, tf.where(left > 0, before, d_columns)), outputs

    (d_logits, d_columns), outputs = _scan(
        reverse_step,
        gradients[:2],
        states,
        outputs_like=(d_rows, gradients[1]),
        length=states[0].shape[0],
        # Entries after the longest run are unused.
        reverse_from=tf.clip_by_value(tf.reduce_max(num_iterations), 0, states[0].shape[0]),
    )
    d_logits, *d_sums = solver.finish(d_logits, states, outputs)
    return d_logits, d_columns, *map(tf.add, gradients[2:], d_sums)


def _scan(
    step: Callable[..., tuple[State, State]],
    state: State,
    inputs: State = (),
    *,
    outputs_like: State = (),
    length: int,
    reverse_from: tf.Tensor | None = None,
    is_running: Callable[..., tf.Tensor] | None = None,
) -> tuple[State, State]:
    """Run `step(t, state, *inputs[t])` for t from 0 to `length - 1`, or from `reverse_from - 1` back to 0.

    Return the state and the outputs.

    A step returns its new state and outputs with the shapes of `outputs_like`, which are stacked along a new first
    axis. The graph does not grow with `length`. The loop ends once `is_running(t, state)` is false; the remaining
    outputs are 0.
    """

    def time(count: tf.Tensor) -> tf.Tensor:
        return count if reverse_from is None else reverse_from - 1 - count

    def body(count: tf.Tensor, state: State, outputs: State) -> tuple:
        t = time(count)
        # A gather, since `tf.vectorized_map` cannot slice if lists differ in their number of steps.
        state, new = step(t, state, *(tf.gather(each, t) for each in inputs))
        return count + 1, state, tuple(map(lambda rows, row: _put(rows, t, row), outputs, new))

    def unfinished(count: tf.Tensor, state: State, _: State) -> tf.Tensor:
        more = count < (length if reverse_from is None else reverse_from)
        return more if is_running is None else tf.logical_and(more, is_running(time(count), state))

    zeros = (tf.tile(tf.zeros_like(each)[tf.newaxis], [length, *[1] * each.shape.rank]) for each in outputs_like)
    start = (tf.constant(0), tuple(state), tuple(zeros))
    _, state, outputs = tf.while_loop(unfinished, body, start, maximum_iterations=length)
    return state, outputs


def _put(rows: tf.Tensor, index: tf.Tensor, row: tf.Tensor) -> tf.Tensor:
    """`rows` with `rows[index] = row`."""

    def updated() -> tf.Tensor:
        return tf.tensor_scatter_nd_update(rows, tf.reshape(index, [1, 1]), row[tf.newaxis])

    if rows.shape.is_fully_defined():
        return updated() if rows.shape.num_elements() else rows
    # A scatter into an empty tensor fails.
    return tf.ensure_shape(tf.cond(tf.size(rows) > 0, updated, lambda: rows), rows.shape)
