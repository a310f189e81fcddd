"""Sinkhorn normalisation: a doubly stochastic matrix from scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.matching._arguments import checked_matching, solve


class SinkhornResult(NamedTuple):
    """What `sinkhorn` gives with `return_residual=True`."""

    permutation: tf.Tensor  # [..., n, m]
    residual: tf.Tensor  # [...]


def sinkhorn(
    logits: Any,
    tau: Any = 1.0,
    *,
    num_iterations: int = 20,
    tolerance: float | None = None,
    hard: bool = False,
    row_mask: Any = None,
    column_mask: Any = None,
    return_residual: bool = False,
) -> tf.Tensor | SinkhornResult:
    """The matrix `exp(logits / tau)` with rows and columns normalized in turn: softly, a matching.

    One iteration divides every row by its sum, then every column by its sum. As iterations go on, a square matrix
    becomes doubly stochastic: of all such matrices P the one of the largest `sum(P * logits) + tau entropy(P)`.
    As tau goes to 0 it becomes the permutation of the largest sum, `linear_assignment(logits)`.

    After the last iteration the columns are exact to rounding; the rows are off by at most the residual, which grows
    as tau falls: 20 iterations may leave 0.06 at a tenth of the spread of the logits, and 1.0 at a hundredth. Ask for
    it, or set a tolerance.

    With more columns than rows, rows sum to 1 and columns to at most 1 (one slack row, of the surplus as its mass and
    of equal logits, takes what is left); with more rows than columns the other way round.

    Args:
      logits: `[..., n, m]`, float16, bfloat16, float32 or float64. -inf means "never".
      tau: temperature, in units of the logits: a positive number, or a tensor or variable that is a scalar or
        broadcasts against the leading axes (a temperature per matrix). A tensor that is not positive gives NaN.
      num_iterations: how many iterations are made, or with a tolerance the most that are made.
      tolerance: stop for each matrix by itself as soon as its residual is at most this (float32 reaches about 1e-6).
      hard: return the exact matching of the largest sum, with the gradient of the soft one.
      row_mask: bool `[..., n]`, True = valid. Masked rows are 0, and as if they were not there.
      column_mask: bool `[..., m]`, True = valid.
      return_residual: return a `SinkhornResult` of the matrix and its residual.

    Returns:
      `[..., n, m]` in the dtype of `logits` (half precision is computed in float32, and logits that span a wide range
      in float64, so that 1e4 at tau 1e-3 is as exact as small numbers). Equal logits share evenly. A matrix
      that holds NaN or infinity, or a valid row or column whose every entry is -inf where no slack can take it, is NaN
      and changes no other. Where -inf leaves no complete matching, no matrix has the right sums: the residual stays
      large, and `hard` gives NaN. Without valid rows or columns the matrix is 0. The residual `[...]` is the largest
      `|row sum - 1|` (slack included; 0 without rows), of the soft matrix also with `hard`; it has no gradient.

    Raises:
      TypeError: `logits` are not floating-point, a mask is not bool, `num_iterations` is not an integer.
      ValueError: `tau` <= 0, `num_iterations` < 1, `tolerance` < 0, fewer than two axes, a mask of another shape.

    Gradient: that of the iterations made, exactly, however many; once they have converged it is the implicit one.
    `tf.vectorized_map`, `tape.jacobian` and second derivatives work too. Forward mode does not, and raises a
    RuntimeError.

    Cost: O(n m) time per iteration, forward and backward. Where no logit is further than 24 * tau below the largest of
    its row and column (200 * tau in float64), an iteration is two products of the matrix with a vector; beyond, all
    matrices of the batch take an exponential of the matrix for each normalization. O(n m) memory plus
    sqrt(num_iterations) (n + m), not growing otherwise. `hard` adds `linear_assignment`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> logits = tf.constant([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    >>> tf.round(100 * ks.ops.sinkhorn(logits)).numpy().astype(int).tolist()
    [[58, 21, 21], [21, 58, 21], [21, 21, 58]]
    >>> round(float(ks.ops.sinkhorn(logits, tau=0.1, return_residual=True).residual), 3)
    0.033

    Source: G. Mena, D. Belanger, S. Linderman, J. Snoek, "Learning Latent Permutations with Gumbel-Sinkhorn
    Networks", ICLR 2018; R. Sinkhorn, P. Knopp, "Concerning Nonnegative Matrices and Doubly Stochastic Matrices",
    1967; scalings absorbed into potentials: B. Schmitzer, "Stabilized Sparse Scaling Algorithms for Entropy
    Regularized Transport Problems", 2019.
    """
    matching = checked_matching(
        logits,
        tau,
        num_iterations=num_iterations,
        tolerance=tolerance,
        hard=hard,
        row_mask=row_mask,
        column_mask=column_mask,
    )
    permutation, residual = _solve(matching)
    return (
        SinkhornResult(permutation, residual) if arguments.boolean("return_residual", return_residual) else permutation
    )


_solve = traced_if_eager(solve)
