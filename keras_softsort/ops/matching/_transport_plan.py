"""The entropic cost of transport from its dual: potentials by Sinkhorn iterations at falling temperatures."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.numbers import refuse_own_gradient
from keras_softsort.ops.matching._sinkhorn_problem import Plan

# The temperature falls from the range of the costs to tau in log(range / tau)^2 times this many iterations, and in at
# most half of all. A faster fall leaves larger residuals where the range is much larger than tau.
COOLING_ITERATIONS = 4.0
# Every iteration at tau moves the potentials by this factor of what makes the sums right: overrelaxation, which leaves
# a smaller residual.
RELAXATION = 1.5


class TransportProblem(NamedTuple):
    """Transport at finite costs [B, N, M] between weights a [B, N] and b [B, M], at temperatures tau [B, 1, 1].

    The weights sum to 1, or are all 0, and a and b are equal if it is symmetric.
    """

    costs: tf.Tensor
    a: tf.Tensor
    b: tf.Tensor
    tau: tf.Tensor
    symmetric: bool

    def lowest(self, costs: tf.Tensor, axis: int) -> tf.Tensor:
        """The smallest cost of each row or column, with `keepdims`; 0 if there is none."""
        used = (self.a[:, :, tf.newaxis] > 0) & (self.b[:, tf.newaxis, :] > 0)
        found = tf.reduce_min(tf.where(used, costs, costs.dtype.max), axis=axis, keepdims=True)
        return tf.where(found < costs.dtype.max, found, tf.zeros_like(found))

    def potential(self, other: tf.Tensor, tau: tf.Tensor, axis: int) -> tf.Tensor:
        """`-tau logsumexp(log w + (other - costs) / tau)` along an axis with weights w: it makes the sums right."""
        weights = tf.expand_dims(self.b if axis == 2 else self.a, 3 - axis)
        nothing = -100 / _epsilon(weights.dtype)  # less than (other - costs) / tau can make up for
        logs = tf.where(weights > 0, tf.math.log(tf.where(weights > 0, weights, 1)), nothing)
        exponents = logs + (tf.expand_dims(other, 3 - axis) - self.costs) / tau
        potential = -tau[:, :, 0] * tf.reduce_logsumexp(exponents, axis)
        return tf.where(tf.reduce_any(weights > 0, axis), potential, tf.zeros_like(potential))


def transport_value(problem: TransportProblem, plan: Plan) -> tuple[tf.Tensor, tf.Tensor]:
    """The cost [B], and the largest error of a row sum [B].

    The cost is the dual one of the last potentials f and g,
    `sum(a f) + sum(b g) - tau sum(a b^T (exp((f + g - costs) / tau) - 1))`: at most the exact cost, with an error that
    is quadratic in theirs. Its gradient at fixed potentials is that of the exact cost.
    """

    @tf.custom_gradient
    def value(costs: tf.Tensor, a: tf.Tensor, b: tf.Tensor, tau: tf.Tensor) -> tuple:
        given = TransportProblem(costs, a, b, tau, problem.symmetric)
        reduced, (u, v) = _reduced(given)
        f, g, tau_used, residual = _potentials(reduced, plan)
        logits = (f[:, :, tf.newaxis] + g[:, tf.newaxis, :] - reduced.costs) / tau_used
        independent = a[:, :, tf.newaxis] * b[:, tf.newaxis, :]
        logits = tf.where(independent > 0, logits, tf.zeros_like(logits))
        moved = independent * tf.exp(logits)
        # The terms of the dual in an order that keeps the digits of costs much smaller than tau.
        divergence = tf.reduce_sum(independent * (tf.exp(logits) * logits - tf.math.expm1(logits)), axis=[1, 2])
        left = (a - tf.reduce_sum(moved, axis=2)) * f, (b - tf.reduce_sum(moved, axis=1)) * g, a * u, b * v
        result = tf.reduce_sum(moved * reduced.costs, axis=[1, 2]) + tau_used[:, 0, 0] * divergence
        result += tf.add_n([tf.reduce_sum(each, axis=1) for each in left])
        gradients = moved, _centered(f + u, a), _centered(g + v, b), divergence

        def gradient(upstream: tf.Tensor, _: tf.Tensor) -> list[tf.Tensor]:
            message = "transport_cost and sinkhorn_divergence have no second derivatives"
            fixed = [tf.raw_ops.PreventGradient(input=each, message=message) for each in gradients]
            upstream = upstream[:, tf.newaxis]
            d_costs, d_a, d_b, d_tau = fixed
            d_tau = upstream * d_tau[:, tf.newaxis]
            return [upstream[:, tf.newaxis] * d_costs, upstream * d_a, upstream * d_b, d_tau[:, tf.newaxis]]

        return (refuse_own_gradient("transport_cost", result), residual), gradient

    return value(problem.costs, problem.a, problem.b, problem.tau)


def _reduced(problem: TransportProblem) -> tuple[TransportProblem, tuple[tf.Tensor, tf.Tensor]]:
    """The problem with the smallest costs of rows and columns subtracted, and these: u [B, N] and v [B, M]."""
    u = problem.lowest(problem.costs, 2)
    if problem.symmetric:
        u /= 2
        v = tf.transpose(u, [0, 2, 1])
    else:
        v = problem.lowest(problem.costs - u, 1)
    return problem._replace(costs=problem.costs - u - v), (u[:, :, 0], v[:, 0])


def _potentials(problem: TransportProblem, plan: Plan) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """The potentials f [B, N] and g [B, M] after the iterations, tau, and the largest error of a row sum [B].

    The first iterations are made at higher temperatures. tau is raised if the dtype of the costs cannot resolve it.
    """
    a, b, count = problem.a, problem.b, plan.num_iterations
    used = (a[:, :, tf.newaxis] > 0) & (b[:, tf.newaxis, :] > 0)
    sizes = tf.where(used, tf.abs(problem.costs), tf.zeros_like(problem.costs))
    largest = tf.nn.relu(tf.reduce_max(sizes, axis=[1, 2], keepdims=True))
    tau = tf.maximum(problem.tau, largest * _epsilon(largest.dtype))
    log_ratio = tf.nn.relu(tf.math.log(tf.where(largest > tau, largest, tau) / tau))
    steps = tf.minimum(tf.math.ceil(COOLING_ITERATIONS * tf.square(log_ratio)), count // 2)

    def tau_at(t: tf.Tensor) -> tf.Tensor:
        share_left = 1 - tf.cast(t, tau.dtype) / tf.maximum(steps, 1)
        return tau * tf.exp(log_ratio * tf.nn.relu(tf.where(steps > 0, share_left, tf.zeros_like(share_left))))

    def step(t: tf.Tensor, f: tf.Tensor, g: tf.Tensor, is_done: tf.Tensor) -> tuple[tf.Tensor, ...]:
        now, is_last = tau_at(t), (tf.cast(t, steps.dtype) >= steps)[:, 0]
        factor = tf.where(is_last, tf.constant(RELAXATION, f.dtype), 1)
        right = problem.potential(g, now, 2)
        if problem.symmetric:
            new_f = new_g = (f + right) / 2
        else:
            new_f = f + factor * (right - f)
            new_g = g + factor * (problem.potential(new_f, now, 1) - g)
        if plan.tolerance is not None:
            is_done |= is_last & (t > 0) & (_error(f, right, now) <= plan.tolerance)
        return t + 1, tf.where(is_done, f, new_f), tf.where(is_done, g, new_g), is_done

    def _error(f: tf.Tensor, right: tf.Tensor, now: tf.Tensor) -> tf.Tensor:
        """The largest error [B, 1] of a row sum, whose row potentials f should be `right`."""
        exponents = tf.where(a > 0, (f - right) / now[:, :, 0], tf.zeros_like(f))
        return tf.reduce_max(a * tf.abs(tf.math.expm1(exponents)), axis=1, keepdims=True)

    start = tf.constant(0), tf.zeros_like(a), tf.zeros_like(b), tf.zeros_like(tau[:, 0], tf.bool)
    _, f, g, _ = tf.while_loop(
        lambda *state: tf.logical_not(tf.reduce_all(state[-1])), step, start, maximum_iterations=count - 1
    )
    if not problem.symmetric:
        f = problem.potential(g, tau, 2)
        g = problem.potential(f, tau, 1)
    return f, g, tau, tf.nn.relu(_error(f, problem.potential(g, tau, 2), tau)[:, 0])


def _centered(potential: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """The potential minus its mean, which is 0 where the weight is 0: the gradient of weights that sum to 1."""
    mean = tf.reduce_sum(weights * potential, axis=1, keepdims=True)
    return tf.where(weights > 0, potential - mean, tf.zeros_like(potential))


def _epsilon(dtype: tf.DType) -> float:
    return 2.0 ** (-52 if dtype == tf.float64 else -23)
