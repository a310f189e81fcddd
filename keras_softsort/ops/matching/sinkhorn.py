"""Sinkhorn normalization: a doubly stochastic matrix from scores, without noise and with it."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort.ops.core import gumbel_noise
from keras_softsort.ops.core.axes import flatten_lists, with_static_shape
from keras_softsort.ops.core.deviations import checked_scale
from keras_softsort.ops.core.numbers import nan_where, refuse_forward_mode, straight_through
from keras_softsort.ops.core.temperature import temperature_per_list
from keras_softsort.ops.core.tracing import traced_if_eager
from keras_softsort.ops.matching._assignment import exact_matching
from keras_softsort.ops.matching._sinkhorn_problem import (
    Plan,
    checked_plan,
    checked_sums,
    logits_in_deviations,
    sinkhorn_matrices,
)
from keras_softsort.ops.matching._sinkhorn_steps import Potentials, State
from keras_softsort.ops.matching.sinkhorn_iterations import iterations


@export
class SinkhornResult(NamedTuple):
    """The result of `sinkhorn` with `return_residual=True`."""

    permutation: tf.Tensor  # [..., n, m]
    residual: tf.Tensor  # [...]


@export(top_level=True)
def sinkhorn(
    logits: Any,
    tau: Any = 1.0,
    *,
    num_iterations: int = 20,
    tolerance: float | None = None,
    hard: bool = False,
    scale: str | None = None,
    row_mask: Any = None,
    column_mask: Any = None,
    row_sums: Any = None,
    column_sums: Any = None,
    marginal_penalty: float | None = None,
    implicit_gradient: bool = False,
    return_residual: bool = False,
) -> tf.Tensor | SinkhornResult:
    """Compute a soft matching of rows and columns by normalizing the rows and columns of `exp(logits / tau)` in turn.

    Use it to train through a matching. A square matrix converges to the doubly stochastic matrix P with the largest
    `sum(P * logits) + tau entropy(P)`. As tau goes to 0, it becomes the permutation matrix of
    `linear_assignment(logits)`. Columns are normalized last and sum to 1. The rows sum to 1 up to the residual, which
    grows as tau falls: 20 iterations may leave 0.06 if tau is a tenth of the spread of the logits, and 1.0 if it is a
    hundredth. Check it with `return_residual=True`, or set a tolerance. With more columns than rows, the rows sum to 1
    and the columns to at most 1: a slack row with uniform logits takes the rest. With more rows, a slack column does.

    With `row_sums` and `column_sums` the result is a transport plan:
    `sinkhorn(-costs, tau, row_sums=a, column_sums=b)`. If one side has more mass, its sums are upper bounds (partial
    transport). With a `marginal_penalty` p the sums need not hold (unbalanced transport): P has the largest `sum(P *
    logits) + tau entropy(P) - p KL(row sums of P, row_sums) - p KL(column sums of P, column_sums)`, with
    `entropy(P) = -sum(P log(P) - P)` and `KL(x, y) = sum(x log(x / y) - x + y)`.

    Args:
      logits: floating-point `[..., n, m]`. A pair with -inf is never matched.
      tau: temperature in units of the logits, positive: a number, or a tensor that broadcasts against the leading axes.
        A tensor that is not positive gives NaN.
      num_iterations: number of iterations; with a `tolerance`, the maximum number.
      tolerance: largest residual at which a matrix stops early (float32 reaches about 1e-6). None runs all iterations.
      hard: whether to return the matching of `linear_assignment`, with the gradient of the soft one.
      scale: `"std"` divides the logits of each matrix by the standard deviation of its valid finite ones, so that `tau`
        and the penalty mean the same for logits of any scale.
      row_mask, column_mask: bool `[..., n]` and `[..., m]`, True for valid rows and columns. Masked ones are 0.
      row_sums, column_sums: `[n]` or `[..., n]`, and `[m]` or `[..., m]`, the sums that rows and columns should have,
        at least 0 and finite; None for 1 each. A row or column with the sum 0 is masked. Masses that differ by less
        than 1e-5 of the larger one (1e-10 in float64) count as equal. Gradients flow to both.
      marginal_penalty: a positive number in units of the logits: the price of sums that differ. None makes them hold.
      implicit_gradient: whether to compute the gradient from the final matrix, as if it had converged, instead of
        through the iterations. It is faster and needs a `tolerance`. Its error is about as large as the tolerance.
      return_residual: whether to return a `SinkhornResult` of the matrix and its residual.

    Returns:
      `[..., n, m]` in the dtype of `logits`. Half precision is computed in float32. Equal logits share evenly. A matrix
      with a valid NaN or +inf, or an infinite sum, is NaN. A row or column of -inf only counts as masked; in a square
      matrix without masks or sums, the other rows then sum to more than 1. If -inf allows no complete matching, the
      residual stays large. Without valid rows or columns the matrix is 0. There are second derivatives; under XLA only
      for up to 20 iterations without a tolerance.

      The residual `[...]` is the largest difference of a row sum of the soft matrix from its target, including the
      slack row, and has no gradient. With a `marginal_penalty` it is the largest change by half an iteration.

    Raises:
      TypeError: `logits` is not floating-point, or an argument has another type.
      ValueError: a number is out of range, `scale` is unknown, shapes do not match, a sum is negative, `hard` is set
        together with sums or a penalty, or `implicit_gradient` without a tolerance or with a penalty.
      InvalidArgumentError: a sum is negative or NaN, and was unknown when traced. Under XLA its matrix is NaN.
      RuntimeError: a gradient is taken in forward mode.

    Cost: O(n m) time per iteration. Every tenth iteration computes exponentials of the matrix, and with a penalty every
    iteration does. Memory is O(n m), plus m numbers for every tenth iteration, or with a penalty for every iteration.
    An `implicit_gradient` takes fewer steps of O(n m) time. `hard` adds the cost of `linear_assignment`.

    Example:
      >>> (100 * ks.ops.sinkhorn([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]).numpy()).round().tolist()
      [[58.0, 21.0, 21.0], [21.0, 58.0, 21.0], [21.0, 21.0, 58.0]]

    Source: G. Mena et al., "Learning Latent Permutations with Gumbel-Sinkhorn Networks", ICLR 2018; R. Sinkhorn,
    P. Knopp, "Concerning Nonnegative Matrices and Doubly Stochastic Matrices", 1967; B. Schmitzer, "Stabilized Sparse
    Scaling Algorithms for Entropy Regularized Transport Problems", 2019; L. Chizat et al., "Scaling Algorithms for
    Unbalanced Transport Problems", 2018 (penalty).
    """
    plan = checked_plan(
        num_iterations=num_iterations,
        tolerance=tolerance,
        implicit_gradient=implicit_gradient,
        has_penalty=marginal_penalty is not None,
    )
    given = _checked(logits, tau, row_mask, column_mask, plan=plan, hard=hard, scale=scale)
    given = given._replace(
        row_sums=checked_sums("row_sums", row_sums, given.row_mask, given.logits, -2),
        column_sums=checked_sums("column_sums", column_sums, given.column_mask, given.logits, -1),
        penalty=None if marginal_penalty is None else arguments.positive_number("marginal_penalty", marginal_penalty),
    )
    if given.hard and any(each is not None for each in (row_sums, column_sums, marginal_penalty)):
        raise ValueError("hard must be False with row_sums, column_sums or marginal_penalty, got True")
    if plan.has_implicit_gradient and (plan.tolerance is None or given.penalty is not None):
        raise ValueError("implicit_gradient must be False without a tolerance or with marginal_penalty, got True")
    permutation, residual = _soft_matching(given)
    if arguments.boolean("return_residual", return_residual):
        return SinkhornResult(permutation, residual)
    return permutation


@export
def gumbel_sinkhorn(
    logits: Any,
    tau: Any = 1.0,
    *,
    seed: Any,
    num_samples: int | None = None,
    noise_scale: Any = 1.0,
    num_iterations: int = 20,
    tolerance: float | None = None,
    hard: bool = False,
    scale: str | None = None,
    row_mask: Any = None,
    column_mask: Any = None,
) -> tf.Tensor:
    """Draw samples of soft matchings: `sinkhorn(logits + noise_scale * Gumbel noise, tau)`.

    Use them to explore matchings. As tau goes to 0, a sample becomes the exact matching with the largest sum of logits
    plus noise, which `hard=True` returns. Gradients flow to the logits through each sample (reparameterized).

    Args:
      logits, num_iterations, tolerance, row_mask, column_mask: as in `sinkhorn`.
      tau: as in `sinkhorn`. Logits plus noise are divided by it.
      seed: two integers, the stateless seed of the noise.
      num_samples: number of samples per matrix, at least 1. None draws one, without a sample axis.
      noise_scale: factor of the noise, a number of at least 0 or a scalar tensor. 0 gives `sinkhorn`.
      hard: whether to return exact matchings of logits plus noise, with the gradient of the soft ones.
      scale: as in `sinkhorn`. The noise is added to the divided logits.

    Returns:
      `[..., n, m]`, or `[..., num_samples, n, m]` if `num_samples` is given, in the dtype of `logits`. Edge cases,
      errors, cost and source are those of `sinkhorn`.

    Example:
      >>> logits = [[2.0, 1.0], [0.0, 1.0]]
      >>> ks.ops.gumbel_sinkhorn(logits, tau=0.5, seed=[1, 2]).shape.as_list()
      [2, 2]
      >>> ks.ops.gumbel_sinkhorn(logits, tau=0.5, seed=[1, 2], num_samples=5).shape.as_list()
      [5, 2, 2]
    """
    plan = checked_plan(num_iterations=num_iterations, tolerance=tolerance)
    given = _checked(logits, tau, row_mask, column_mask, plan=plan, hard=hard, scale=scale)
    factor = gumbel_noise.noise_scale_tensor(noise_scale, compute_dtype(given.logits.dtype))
    num_samples = arguments.optional_positive_integer("num_samples", num_samples)
    return _sample(given, factor, gumbel_noise.seed_tensor(seed), num_samples)


class SinkhornArguments(NamedTuple):
    """Checked arguments: tensors first, then static values."""

    logits: tf.Tensor  # [..., n, m], as given
    tau: tf.Tensor  # in the compute dtype: a scalar, or broadcasts against the leading axes
    row_mask: tf.Tensor | None  # [..., n]
    column_mask: tf.Tensor | None  # [..., m]
    plan: Plan
    hard: bool
    scale: str | None
    row_sums: tf.Tensor | None = None  # [..., n]
    column_sums: tf.Tensor | None = None  # [..., m]
    penalty: float | None = None

    def scaled_logits(self, dtype: tf.DType) -> tf.Tensor:
        """The logits in `dtype`, in their standard deviations if `scale` says so."""
        logits = tf.cast(self.logits, dtype)
        if self.scale is None:
            return logits
        # A row or column with the sum 0 is masked.
        rows = self.row_mask if self.row_sums is None else self.row_sums > 0
        columns = self.column_mask if self.column_sums is None else self.column_sums > 0
        # The penalty on wrong sums is relative to the logits themselves, not to their differences.
        return logits_in_deviations(logits, rows, columns, from_origin=self.penalty is None)


def _checked(
    logits: Any, tau: Any, row_mask: Any, column_mask: Any, *, plan: Plan, hard: Any, scale: Any
) -> SinkhornArguments:
    logits = arguments.matrix_tensor("logits", logits)
    tau = arguments.temperature(tau, compute_dtype(logits.dtype), logits, inner=2)
    # TensorFlow's forward mode fails for conditionals that a tape has already differentiated.
    refuse_forward_mode("Sinkhorn", logits, tau)
    return SinkhornArguments(
        logits=logits,
        tau=tau,
        row_mask=arguments.axis_mask("row_mask", row_mask, logits, -2),
        column_mask=arguments.axis_mask("column_mask", column_mask, logits, -1),
        plan=plan,
        hard=arguments.boolean("hard", hard),
        scale=checked_scale(scale),
    )


@traced_if_eager
def _soft_matching(given: SinkhornArguments) -> tuple[tf.Tensor, tf.Tensor]:
    """The matrix [..., n, m] in the dtype of the scores, soft or hard, and the soft one's residual [...]."""
    logits = given.logits
    shape = tf.shape(logits)
    if logits.shape.num_elements() == 0:
        return logits, tf.zeros(shape[:-2], logits.dtype)
    tau = temperature_per_list(given.tau, logits, inner=2)
    matrices = sinkhorn_matrices(
        given.scaled_logits(compute_dtype(logits.dtype)),
        tau,
        row_mask=given.row_mask,
        column_mask=given.column_mask,
        row_sums=given.row_sums,
        column_sums=given.column_sums,
        penalty=given.penalty,
    )
    weights, *last = iterations(Potentials, matrices.start, given.plan)(*matrices.inputs())
    error = Potentials(*matrices.inputs()).residual(weights, State(*last))
    failed = matrices.failed[:, tf.newaxis, tf.newaxis]
    result = weights[:, : shape[-2], : shape[-1]]
    result = nan_where(failed, result, flatten_lists(logits, inner=2), tau)
    residual = nan_where(matrices.failed, tf.stop_gradient(error))
    result = tf.cast(tf.reshape(result, shape), logits.dtype)
    if given.hard:
        result = straight_through(exact_matching(logits, given.row_mask, given.column_mask), result)
    return with_static_shape(result, logits.shape), tf.reshape(tf.cast(residual, logits.dtype), shape[:-2])


@traced_if_eager
def _sample(given: SinkhornArguments, noise_scale: tf.Tensor, seed: tf.Tensor, num_samples: int | None) -> tf.Tensor:
    matrices = given._replace(logits=given.scaled_logits(noise_scale.dtype), scale=None)
    if num_samples is not None:
        matrices = matrices._replace(
            logits=_repeat(matrices.logits, num_samples, -3),
            tau=given.tau if given.tau.shape.rank == 0 else given.tau[..., tf.newaxis],
            row_mask=_repeat(given.row_mask, num_samples, -2),
            column_mask=_repeat(given.column_mask, num_samples, -2),
        )
    noise = gumbel_noise.gumbel(tf.shape(matrices.logits), seed, noise_scale.dtype)
    samples, _ = _soft_matching(matrices._replace(logits=matrices.logits + noise_scale * noise))
    return tf.cast(samples, given.logits.dtype)


def _repeat(tensor: tf.Tensor | None, count: int, axis: int) -> tf.Tensor | None:
    """Repeat `tensor` `count` times along a new axis."""
    return None if tensor is None else tf.repeat(tf.expand_dims(tensor, axis), count, axis=axis)
