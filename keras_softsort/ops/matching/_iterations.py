"""Sinkhorn as one differentiable function whose memory does not grow with the number of iterations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops.matching._marginals import SinkhornMarginals
from keras_softsort.ops.matching._potentials import Potentials
from keras_softsort.ops.matching._scalings import MAX_RANGE, Scalings, logit_range, scalings
from keras_softsort.ops.matching._scan import scan
from keras_softsort.ops.matching._undone import Undone

# Up to this many iterations the state after each is stored; for more, the one before every sqrt(num_iterations)-th, or
# every `MIN_SEGMENT`-th if that is more.
STORED_ITERATIONS = 64
MIN_SEGMENT = 32
# Up to this many iterations, if all of them are made, are unrolled.
UNROLLED_ITERATIONS = 32


class Plan(NamedTuple):
    """The plan of iterations: `segments` of `length`, at most `num_iterations` in total."""

    num_iterations: int
    tolerance: float | None

    @property
    def length(self) -> int:
        """The number of iterations in a segment."""
        if self.num_iterations <= STORED_ITERATIONS:
            return self.num_iterations
        return max(MIN_SEGMENT, math.isqrt(self.num_iterations - 1) + 1)

    @property
    def segments(self) -> int:
        """The number of segments; the states before each are stored if there are several."""
        return -(-self.num_iterations // self.length)

    @property
    def fixed(self) -> bool:
        """Whether every matrix makes every iteration of every segment."""
        return self.tolerance is None and self.segments == 1

    @property
    def unroll(self) -> bool:
        """Whether the graph holds every iteration."""
        return self.fixed and self.num_iterations <= UNROLLED_ITERATIONS


def sinkhorn_weights(marginals: SinkhornMarginals, num_iterations: int, tolerance: float | None) -> tf.Tensor:
    """The weights [B, N, M] after the iterations, differentiable with respect to scores and tau."""
    plan = Plan(num_iterations, tolerance)

    @tf.custom_gradient
    def weights(scores: tf.Tensor, inverse_tau: tf.Tensor) -> tuple:
        given = marginals._replace(scores=scores, inverse_tau=inverse_tau)
        ways = _ways(given, plan)
        result, *run = _first_that_fits(ways, lambda way: _of_one_dtype(forward(way, plan)))

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            (d_logits,) = _first_that_fits(ways, lambda way: [backward(way, plan, run, upstream)])
            d_scores = d_logits * tf.cast(inverse_tau, d_logits.dtype)
            # The rows of the gradient sum to 0, so scores relative to their row have the same gradient and more
            # precision.
            products = d_logits * given.row_centered(d_logits.dtype)
            axes = [1, 2] if inverse_tau.shape.rank else None
            d_inverse_tau = tf.reduce_sum(products, axis=axes, keepdims=bool(axes))
            return d_scores, tf.cast(d_inverse_tau, inverse_tau.dtype)

        return result, gradient

    return weights(marginals.scores, marginals.inverse_tau)


def _ways(marginals: SinkhornMarginals, plan: Plan) -> list[tuple]:
    """The ways to compute, the cheapest first, with a condition on all matrices."""
    largest, own = logit_range(marginals), marginals.scores.dtype
    ways: list[tuple] = [(largest <= MAX_RANGE[own], lambda: scalings(marginals, own, unroll=plan.unroll))]
    if own != tf.float64:
        ways.append((largest <= MAX_RANGE[tf.float64], lambda: scalings(marginals, tf.float64, unroll=False)))
    return [*ways, (None, lambda: Potentials(marginals))]


def _first_that_fits(ways: list[tuple], compute: Callable[[Scalings | Potentials], list]) -> list[tf.Tensor]:
    (fits, make), *others = ways
    if not others:
        return compute(make())
    # Not a `switch_case`, which `tf.vectorized_map` cannot convert.
    return tf.cond(fits, lambda: compute(make()), lambda: _first_that_fits(others, compute))


def _of_one_dtype(run: list[tf.Tensor]) -> list[tf.Tensor]:
    """A run of `forward` with float64 states, whatever the way."""
    result, *states, made = run
    return [result, *(tf.cast(each, tf.float64) for each in states), made]


def forward(way: Scalings | Potentials, plan: Plan) -> list[tf.Tensor]:
    """The weights; the states after each iteration or before each segment; the numbers of iterations [B]."""
    marginals = way.marginals
    made = tf.fill(tf.shape(marginals.failed), plan.num_iterations)
    a, b = way.first()
    if plan.segments == 1:
        (a, b, made), history = _segment(way, plan, 0, (a, b, made), stored=True)
    else:

        def segment(index: tf.Tensor, state: tuple) -> tuple:
            return _segment(way, plan, index * plan.length, state, stored=False)[0], state[:2]

        (a, b, made), history = scan(
            segment,
            (a, b, made),
            (),
            (a, b),
            length=plan.segments,
            unroll=False,
            running=lambda index, state: tf.reduce_any(index * plan.length < state[2]),
        )
    result = tf.cast(way.weights(a, b), marginals.scores.dtype)
    return [result, a, b, *history, made]


def _segment(way: Scalings | Potentials, plan: Plan, start: tf.Tensor, state: tuple, *, stored: bool) -> tuple:
    """The iterations from number `start` on, and the states after each if `stored`."""

    def step(t: tf.Tensor, state: tuple) -> tuple:
        a, b, made = state
        row_sums, new_a, new_b = way.step(a, b)
        if plan.tolerance is not None:
            error = way.marginals.row_error(tf.cast(row_sums, way.marginals.rows.dtype))
            converged = tf.logical_and(error <= plan.tolerance, start + t > 0)
            made = tf.where(converged, tf.minimum(made, start + t), made)
        if not plan.fixed:
            active = (start + t < made)[:, tf.newaxis]
            new_a, new_b = tf.where(active, new_a, a), tf.where(active, new_b, b)
        return (new_a, new_b, made), (new_a, new_b) if stored else ()

    running = None if plan.fixed else (lambda t, state: tf.reduce_any(start + t < state[2]))
    templates = state[:2] if stored else ()
    unroll = isinstance(way, Scalings) and way.unroll
    return scan(step, state, (), templates, length=plan.length, unroll=unroll, running=running)


def backward(way: Scalings | Potentials, plan: Plan, run: list[tf.Tensor], upstream: tf.Tensor) -> tf.Tensor:
    """The exact gradient of the iterations made with respect to the logits [B, N, M]."""
    *states, made = run
    first = way.first()
    a, b, *history = (tf.cast(each, first[0].dtype) for each in states)
    direct = way.weights(a, b)
    direct *= tf.cast(upstream, direct.dtype)
    d_rows, gradients = tf.reduce_sum(direct, axis=2), (direct, tf.reduce_sum(direct, axis=1))

    def undo(start: Any, before: tf.Tensor, history: list[tf.Tensor], gradients: tuple) -> tuple:
        a, b = history
        states = a, b, tf.concat([before[tf.newaxis], b[:-1]], axis=0)
        return way.adjoint(Undone(states, start, None if plan.fixed else made, d_rows), gradients)

    if plan.segments == 1:
        gradients = undo(0, first[1], history, gradients)
    else:

        def segment(index: tf.Tensor, gradients: tuple, a: tf.Tensor, b: tf.Tensor) -> tuple:
            start = index * plan.length
            _, again = _segment(way, plan, start, (a, b, made), stored=True)
            return undo(start, b, again, gradients), ()

        gradients, _ = scan(segment, gradients, tuple(history), (), length=plan.segments, unroll=False, reverse=True)
    return tf.cast(gradients[0], upstream.dtype)
