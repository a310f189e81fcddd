"""Sinkhorn as one differentiable loop, whose gradient stores vectors of each segment of iterations and no matrix."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from keras_softsort.ops.core.axes import flatten_lists, with_static_shape
from keras_softsort.ops.core.numbers import vector_product
from keras_softsort.ops.matching._sinkhorn_problem import Plan, plan_of_length
from keras_softsort.ops.matching._sinkhorn_steps import Gradients, Potentials, Scalings, State

# The most iterations between two checks of whether a soft permutation has converged.
MAX_ROUND = 8
# Up to this many segments are made without a loop: as many as the default number of iterations has.
MAX_SEGMENTS_WITHOUT_LOOP = 2
# The residual of conjugate gradients, relative to the first one, at which they stop.
IMPLICIT_RESIDUAL = {tf.float32: 1e-5, tf.float64: 1e-10}

Problem = Potentials | Scalings


def doubly_stochastic(weights: tf.Tensor, num_iterations: int, tolerance: float) -> tf.Tensor:
    """Normalize soft permutations K [..., n, n], whose rows sum to 1, until their columns sum to 1 as well.

    The iterations are made in equal rounds, after each of which a matrix stops if its row sums are within `tolerance`
    of 1. A block of masked rows and items needs no mask, if it is a soft permutation of its own. Each row and column of
    a soft permutation has its largest weight at a pair of its own, so scalings multiply to at most about n, and weights
    that underflow do not matter.
    """
    length = max(each for each in range(1, MAX_ROUND + 1) if num_iterations % each == 0)
    plan = plan_of_length(length, num_iterations, tolerance, checks_segments=True)
    kernel = flatten_lists(weights, inner=2)
    ones = tf.ones_like(tf.reduce_sum(kernel, axis=2))
    result, *_ = iterations(Scalings, ones, plan)(kernel, ones, ones)
    return with_static_shape(tf.reshape(result, tf.shape(weights)), weights.shape)


def iterations(problem_of: Callable[..., Problem], start: tf.Tensor, plan: Plan) -> Callable[..., tuple]:
    """A function of the inputs of a problem: its weights [B, N, M] after iterations, and the parts of the last `State`.

    The problem is `problem_of(*inputs)`, and its columns begin at `start`. The weights have a gradient with respect to
    the inputs, that of the iterations made. The problem says what is kept of a segment for it.
    """

    @tf.custom_gradient
    def run(*inputs: tf.Tensor) -> tuple:
        problem = problem_of(*inputs)

        def body(index: tf.Tensor, state: State, last_weights: tuple, stored: tuple) -> tuple:
            first = index * plan.length
            state, weights, kept = problem.segment(plan, first, state)
            if plan.may_end:  # A matrix that has stopped keeps its digits.
                is_made = (first < state.made)[:, tf.newaxis, tf.newaxis]
                weights = tuple(tf.where(is_made, new, old) for new, old in zip(weights, last_weights, strict=True))
            # Nothing is stored for an implicit gradient.
            stored = tuple(_put(rows, index, row) for rows, row in zip(stored, kept[: len(stored)], strict=True))
            return index + 1, state, weights, stored

        def is_running(index: tf.Tensor, state: State, *_: tf.Tensor) -> tf.Tensor:
            return tf.constant(True) if plan.tolerance is None else tf.reduce_any(index * plan.length < state.made)

        # The row potentials before the first iteration are never read.
        state = State(tf.zeros_like(inputs[1]), start, tf.fill(tf.shape(start)[:1], plan.num_iterations))
        weights, kept = problem.empty(plan, state)
        kept = () if plan.has_implicit_gradient else kept
        stored = tuple(tf.tile(tf.zeros_like(row)[tf.newaxis], [plan.segments, *[1] * row.shape.rank]) for row in kept)
        first = tf.constant(0), state, weights, stored
        _, last, weights, stored = _loop(plan, is_running, body, first)
        result = weights[0] if weights else problem.weights(last)

        def gradient(upstream: tf.Tensor, *_: tf.Tensor) -> list[tf.Tensor]:
            if plan.has_implicit_gradient:
                return _implicit_gradients(result, upstream, plan.num_iterations)
            d_rows, d_columns = (tf.reduce_sum(result * upstream, axis=axis) for axis in (2, 1))
            zeros = tf.zeros_like(d_rows), tf.zeros_like(d_columns), tf.zeros_like(d_rows[:, :1])
            gradients = Gradients(problem.of_weights(result, upstream), d_rows, d_columns, *zeros)
            return list(problem.of_inputs(_reversed(problem, plan, stored, last.made, gradients)))

        return (result, *last), gradient

    return run


def _reversed(problem: Problem, plan: Plan, stored: tuple, made: tf.Tensor, gradients: Gradients) -> Gradients:
    """The gradients before all iterations, from those after them."""

    def body(index: tf.Tensor, gradients: Gradients) -> tuple[tf.Tensor, Gradients]:
        first = index * plan.length
        # A gather, since `tf.vectorized_map` cannot slice if lists differ in their number of segments.
        kept = tuple(tf.gather(rows, index) for rows in stored)
        return index - 1, problem.reverse(plan, first, made, kept, gradients)

    segments = tf.constant(plan.segments) if plan.tolerance is None else -(-tf.reduce_max(made) // plan.length)
    return _loop(plan, lambda index, _: index >= 0, body, (segments - 1, gradients))[1]


def _loop(plan: Plan, is_running: Callable[..., tf.Tensor], body: Callable[..., tuple], start: tuple) -> tuple:
    """`tf.while_loop` over the segments, or few of them without a loop: XLA takes no second derivative of a loop."""
    if plan.tolerance is None and plan.segments <= MAX_SEGMENTS_WITHOUT_LOOP:
        state = start
        for _ in range(plan.segments):
            state = body(*state)
        return state
    return tf.while_loop(is_running, body, start, maximum_iterations=plan.segments)


def _put(rows: tf.Tensor, index: tf.Tensor, row: tf.Tensor) -> tf.Tensor:
    """`rows` with `rows[index] = row`."""

    def updated() -> tf.Tensor:
        return tf.tensor_scatter_nd_update(rows, tf.reshape(index, [1, 1]), row[tf.newaxis])

    if rows.shape.is_fully_defined():
        return updated() if rows.shape.num_elements() else rows
    # A scatter into an empty tensor fails.
    return with_static_shape(tf.cond(tf.size(rows) > 0, updated, lambda: rows), rows.shape)


def _implicit_gradients(weights: tf.Tensor, upstream: tf.Tensor, max_iterations: int) -> list[tf.Tensor]:
    """The gradients with respect to the logits [B, N, M], the row sums and the column sums.

    Weights P = exp(L_ij + f_i + g_j) with fixed sums move by dP = P * (dL_ij + df_i + dg_j), where df and dg keep the
    sums. So with upstream U the gradient of the logits is P * (U - a_i - b_j), and those of the sums are a and b, where

        rows a + P b = sum_j(P U),   P^T a + columns b = sum_i(P U).

    Eliminating a leaves a symmetric system for b, which conjugate gradients solve in fewer steps than Sinkhorn takes.
    """
    rows, columns = tf.reduce_sum(weights, axis=2), tf.reduce_sum(weights, axis=1)
    products = weights * upstream
    of_rows, of_columns = tf.reduce_sum(products, axis=2), tf.reduce_sum(products, axis=1)

    def from_rows(values: tf.Tensor) -> tf.Tensor:
        return vector_product(weights, tf.math.divide_no_nan(values, rows), transpose=True)

    def reduced(b: tf.Tensor) -> tf.Tensor:
        return columns * b - from_rows(vector_product(weights, b))

    residual = of_columns - from_rows(of_rows)
    enough = IMPLICIT_RESIDUAL[weights.dtype] ** 2 * _squared(residual, columns)

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
    a = tf.math.divide_no_nan(of_rows - vector_product(weights, b), rows)
    return [weights * (upstream - a[:, :, tf.newaxis] - b[:, tf.newaxis, :]), a, b]


def _squared(residual: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """The squared length [B, 1] of a residual, each column relative to its sum."""
    return tf.reduce_sum(tf.math.divide_no_nan(tf.square(residual), columns), axis=1, keepdims=True)
