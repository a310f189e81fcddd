"""Entropic transport of point clouds: its cost, and the divergence that is 0 for equal clouds."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort.ops.core.axes import flatten_lists
from keras_softsort.ops.core.distances import DISTANCES, pairwise_distances
from keras_softsort.ops.core.numbers import nan_lists, nan_where, refuse_forward_mode, vector_product
from keras_softsort.ops.core.temperature import temperature_per_list
from keras_softsort.ops.core.tracing import traced_if_eager
from keras_softsort.ops.matching._sinkhorn_problem import Plan, checked_plan, checked_sums
from keras_softsort.ops.matching._transport_plan import TransportProblem, transport_value


@export
def transport_cost(
    x: Any,
    y: Any,
    tau: Any = 1.0,
    *,
    x_weights: Any = None,
    y_weights: Any = None,
    x_mask: Any = None,
    y_mask: Any = None,
    distance: str = "squared_euclidean",
    num_iterations: int = 1000,
    tolerance: float | None = 1e-6,
    return_residual: bool = False,
) -> tf.Tensor | tuple[tf.Tensor, tf.Tensor]:
    """Compute the entropic cost of transporting the points x to the points y.

    Use it to compare clouds of points. `cost = min_P sum(P * C) + tau sum(P log(P / (a b^T)))` over plans P with row
    sums a and column sums b. C holds the distances, and a and b the weights, divided by their sums. As tau goes to 0 it
    becomes the exact cost of transport, and for large tau the mean distance. Sinkhorn iterations find the plan, first
    at higher temperatures if tau is small compared with the distances.

    Args:
      x, y: points `[..., n, d]` and `[..., m, d]`, floating-point.
      tau: temperature in units of the distances, positive: a number, or a tensor that broadcasts against the leading
        axes. A tensor that is not positive gives NaN.
      x_weights, y_weights: weights, `[n]` or `[..., n]`, and `[m]` or `[..., m]`, at least 0; None for equal weights. A
        point with weight 0 is masked.
      x_mask, y_mask: bool `[..., n]` and `[..., m]`, True for valid points.
      distance: as in `nearest_neighbors`.
      num_iterations: maximum number of Sinkhorn iterations, at most half of them at higher temperatures.
      tolerance: largest error of a row sum at which a pair of clouds stops early. None runs all iterations.
      return_residual: whether to return a pair of the cost and the residual.

    Returns:
      `[...]` in the dtype of x. Half precision is computed in float32. A valid NaN or infinite point gives NaN. A pair
      with a cloud without valid points costs 0. The residual `[...]` is the largest error of a row sum of P, whose sums
      are 1. If the iterations have not converged, the cost is a lower bound, whose error is about quadratic in the
      residual. In float32 a tau below 1e-7 of the largest distance counts as that.

    Raises:
      TypeError: `x` or `y` is not floating-point, their dtypes differ, or a mask is not bool.
      ValueError: a number is out of range, a weight is negative (an InvalidArgumentError if it was unknown when traced;
        XLA drops that check), `distance` is unknown, or shapes do not match.

    Gradients with respect to points, weights and tau are those at the plan found (the envelope theorem). Second
    derivatives raise a LookupError, and forward mode a RuntimeError.

    Cost: O(n m d) for the distances, and two exponentials of an n by m matrix per iteration. O(n m) memory.

    Example:
      >>> round(float(ks.ops.transport_cost([[0.0], [1.0]], [[3.0], [2.0]], tau=0.01)), 2)
      4.01

    Source: M. Cuturi, "Sinkhorn Distances", NIPS 2013; A. Genevay et al., "Learning Generative Models with Sinkhorn
    Divergences", AISTATS 2018.
    """
    source, target = _cloud("x", x, x_weights, x_mask), _cloud("y", y, y_weights, y_mask)
    tau, distance = _checked_tau(source, target, tau), arguments.one_of("distance", distance, DISTANCES)
    plan = checked_plan(num_iterations=num_iterations, tolerance=tolerance)
    cost, residual = _cost(source, target, tau, distance, plan)
    return _result(cost, residual, source.points.dtype, return_residual)


@export
def sinkhorn_divergence(
    x: Any,
    y: Any,
    tau: Any = 1.0,
    *,
    x_weights: Any = None,
    y_weights: Any = None,
    x_mask: Any = None,
    y_mask: Any = None,
    distance: str = "squared_euclidean",
    num_iterations: int = 1000,
    tolerance: float | None = 1e-6,
    return_residual: bool = False,
) -> tf.Tensor | tuple[tf.Tensor, tf.Tensor]:
    """Compute the Sinkhorn divergence of two point clouds, which is 0 for equal clouds.

    Use it as a loss between clouds of points. `divergence = cost(x, y) - cost(x, x) / 2 - cost(y, y) / 2`, with the
    costs of `transport_cost`. Unlike these it has no bias: it is positive for clouds that differ, and its gradient
    moves x to y instead of to the center of y. As tau goes to 0 it becomes the exact cost of transport; for large tau
    and squared distances, the squared distance of the means. NaN, empty clouds, residuals, gradients and errors are as
    there, and the cost is three times as much.

    Args:
      x, y, tau, x_weights, y_weights, x_mask, y_mask, num_iterations, tolerance: as in `transport_cost`.
      distance: as in `transport_cost`. Only `"squared_euclidean"`, `"euclidean"` and `"cityblock"` make it positive.
      return_residual: whether to return a pair of the divergence and the largest residual of the three costs.

    Example:
      >>> round(float(ks.ops.sinkhorn_divergence([[0.0, 1.0], [2.0, 0.0]], [[3.0, 4.0], [5.0, 3.0]])), 4)
      18.0

    Source: J. Feydy et al., "Interpolating between Optimal Transport and MMD using Sinkhorn Divergences", AISTATS 2019.
    """
    source, target = _cloud("x", x, x_weights, x_mask), _cloud("y", y, y_weights, y_mask)
    tau, distance = _checked_tau(source, target, tau), arguments.one_of("distance", distance, DISTANCES)
    plan = checked_plan(num_iterations=num_iterations, tolerance=tolerance)
    of_both, residual = _cost(source, target, tau, distance, plan)
    for cloud in (source, target):
        of_cloud, own = _cost(cloud, cloud, tau, distance, plan, symmetric=True)
        of_both, residual = of_both - of_cloud / 2, tf.maximum(residual, own)
    is_empty = (tf.reduce_all(tf.equal(cloud.weights, 0), axis=-1) for cloud in (source, target))
    divergence = tf.where(tf.logical_or(*is_empty), tf.zeros_like(of_both), of_both)
    return _result(divergence, residual, source.points.dtype, return_residual)


class Cloud(NamedTuple):
    """Points and their weights, 0 if masked."""

    points: tf.Tensor  # [..., n, d], as given; 0 where masked
    weights: tf.Tensor  # [..., n] in the compute dtype, with the sum 1 if any is positive


def _cloud(name: str, points: Any, weights: Any, mask: Any) -> Cloud:
    points = arguments.matrix_tensor(name, points)
    mask = arguments.axis_mask(f"{name}_mask", mask, points, -2)
    all_count = weights is None and mask is None
    given = tf.ones(tf.shape(points)[:-1], compute_dtype(points.dtype)) if weights is None else weights
    weights = checked_sums(f"{name}_weights", given, mask, points, -2)
    if not all_count:  # a point with the weight 0 is masked
        points = tf.where((weights > 0)[..., tf.newaxis], points, tf.zeros_like(points))
    return Cloud(points, tf.math.divide_no_nan(weights, tf.reduce_sum(weights, axis=-1, keepdims=True)))


def _checked_tau(source: Cloud, target: Cloud, tau: Any) -> tf.Tensor:
    """Check that two clouds match, and the temperature."""
    x, y = source.points, target.points
    if x.dtype != y.dtype:
        raise TypeError(f"x and y must have the same dtype, got {x.dtype.name} and {y.dtype.name}")
    fits = x.shape[:-2].is_compatible_with(y.shape[:-2]) and x.shape[-1:].is_compatible_with(y.shape[-1:])
    if not fits:
        raise ValueError(f"x and y must have shapes [..., n, d] and [..., m, d], got {x.shape} and {y.shape}")
    tau = arguments.temperature(tau, compute_dtype(x.dtype), x, inner=2)
    refuse_forward_mode("Sinkhorn", x, y, tau)
    return tau


@traced_if_eager
def _cost(
    source: Cloud, target: Cloud, tau: tf.Tensor, distance: str, plan: Plan, *, symmetric: bool = False
) -> tuple[tf.Tensor, tf.Tensor]:
    """The cost of transport from `source` to `target` and the error of its row sums, [...] in the compute dtype."""
    x, y = source.points, target.points
    leading, static = tf.shape(x)[:-2], x.shape[:-2]
    b = arguments.of_shape("y", target.weights, tf.concat([leading, tf.shape(y)[-2:-1]], axis=0))
    a, b = flatten_lists(source.weights), flatten_lists(b)
    tau = tf.broadcast_to(temperature_per_list(tau, x, inner=2), [tf.shape(a)[0], 1, 1])
    x, y = (tf.cast(flatten_lists(points, inner=2), a.dtype) for points in (x, y))
    shift = tf.zeros([], a.dtype)
    if distance == "squared_euclidean":
        # A number common to all points costs the means no digits.
        center = tf.stop_gradient(_mean(x, a))
        x, y = x - center, y - center
        # Clouds about their means keep their digits, and the distance of these is part of every plan's cost.
        means = [_mean(x, a), _mean(y, b)]
        x, y = x - means[0], y - means[1]
        shift = tf.reduce_sum(tf.square(means[0] - means[1]), axis=[1, 2])
    costs = pairwise_distances(x, y, distance, mask=b > 0)
    is_used = (a[:, :, tf.newaxis] > 0) & (b[:, tf.newaxis, :] > 0)
    failed = tf.reduce_any(is_used & ~tf.math.is_finite(costs), axis=[1, 2]) | tf.math.is_nan(tau[:, 0, 0])
    # XLA drops the check of weights.
    failed |= ~tf.reduce_all(tf.concat([a, b], axis=1) >= 0, axis=1)
    is_used &= ~failed[:, tf.newaxis, tf.newaxis]
    used_a, used_b = (tf.where(failed[:, tf.newaxis], tf.zeros_like(weights), weights) for weights in (a, b))
    problem = TransportProblem(
        tf.where(is_used, costs, tf.zeros_like(costs)),
        used_a,
        used_b,
        tf.where(failed[:, tf.newaxis, tf.newaxis], tf.ones_like(tau), tau),
        symmetric,
    )
    cost, residual = transport_value(problem, plan)
    is_empty = tf.reduce_all(a <= 0, axis=1) | tf.reduce_all(b <= 0, axis=1)
    cost = tf.where(is_empty & ~failed, tf.zeros_like(cost), cost + shift)
    cost, residual = nan_lists(failed, cost, x), nan_where(failed, tf.stop_gradient(residual))
    return tuple(tf.ensure_shape(tf.reshape(each, leading), static) for each in (cost, residual))


def _mean(points: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """The weighted mean [B, 1, d] of points [B, n, d], for weights with a sum of 1."""
    return vector_product(points, weights, transpose=True)[:, tf.newaxis]


def _result(
    cost: tf.Tensor, residual: tf.Tensor, dtype: tf.DType, return_residual: Any
) -> tf.Tensor | tuple[tf.Tensor, tf.Tensor]:
    """The cost in `dtype`, with the residual if asked for."""
    cost, residual = tf.cast(cost, dtype), tf.cast(residual, dtype)
    return (cost, residual) if arguments.boolean("return_residual", return_residual) else cost
