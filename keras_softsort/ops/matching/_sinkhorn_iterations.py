"""Sinkhorn iterations: in log space where they must be, as matrix-vector products where they can be.

One iteration sets the row potentials f so that rows sum right, then the column potentials g so that columns do. An
iteration in log space passes over the matrix with an exponential; from its result K = exp(scores / tau + f + g),
further iterations are u = rows / (K v), v = columns / (K^T u) on scalings of K. When a scaling is about to leave the
range in which float32 loses nothing, it is absorbed: the next iteration is made in log space, with a new K.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops.matching._marginals import SinkhornMarginals

# Entries of K below exp(-87) are lost in float32. Against scalings within exp(+-33) of 1 what is lost is less than
# exp(2 * 33 - 87) < 1e-9 of any sum.
SAFE_EXPONENT = 33.0


class History(NamedTuple):
    """Potentials (float64) after each of some consecutive iterations; index 0 is before the first of them."""

    f: tf.Tensor  # [length + 1, B, N]
    g: tf.Tensor  # [length + 1, B, M]

    def put(self, index: tf.Tensor, f: tf.Tensor, g: tf.Tensor) -> History:
        """With the potentials at `index` replaced."""
        return History(*(put(kept, index, new) for kept, new in zip(self, (f, g), strict=True)))


def empty_history(problem: SinkhornMarginals, count: int) -> History:
    """Potentials 0 for `count` iterations."""
    return History(*(tf.zeros([count, *_sizes(part)], tf.float64) for part in (problem.rows, problem.columns)))


def _sizes(tensor: tf.Tensor) -> list[Any]:
    """The shape, static where it is known."""
    dynamic = tf.unstack(tf.shape(tensor))
    return [known or size for known, size in zip(tensor.shape, dynamic, strict=True)]


def put(tensor: tf.Tensor, index: tf.Tensor, row: tf.Tensor) -> tf.Tensor:
    """`tensor` with `tensor[index] = row`."""
    updated = tf.tensor_scatter_nd_update(tensor, tf.reshape(index, [1, 1]), row[tf.newaxis])
    return tf.ensure_shape(updated, tensor.shape)


def iterate(
    problem: SinkhornMarginals,
    f: tf.Tensor,
    g: tf.Tensor,
    *,
    start: tf.Tensor,
    limit: tf.Tensor,
    length: int,
    tolerance: float | None,
) -> tuple[History, tf.Tensor]:
    """Up to `length` iterations from (f, g), the first being number `start` (from 0).

    Matrix b makes those whose number is below `limit[b]` and keeps its potentials afterwards. With a tolerance its
    limit drops to the number of iterations after which its rows were within the tolerance. Returns the history,
    filled up to the last iteration that any matrix made, and the limits.
    """
    history = empty_history(problem, length + 1).put(tf.constant(0), f, g)

    def unfinished(done: tf.Tensor, limit: tf.Tensor) -> tf.Tensor:
        return tf.logical_and(done < length, tf.reduce_any(start + done < limit))

    def stop(done: tf.Tensor, limit: tf.Tensor, row_sums: tf.Tensor) -> tf.Tensor:
        if tolerance is None:
            return limit
        converged = tf.logical_and(row_error(problem, row_sums) <= tolerance, start + done > 0)
        return tf.where(converged, tf.minimum(limit, start + done), limit)

    def if_active(done: tf.Tensor, limit: tf.Tensor, new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
        return tf.where((start + done < limit)[:, tf.newaxis], new, old)

    def from_new_kernel(
        first: tf.Tensor, f: tf.Tensor, g: tf.Tensor, history: History, limit: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        # Relative to each row's largest entry, the first product with the kernel is the row's logsumexp.
        base = if_active(first, limit, row_base(problem, g), f)
        kernel = problem.weights(base, g)

        def scaled(
            done: tf.Tensor, _: tf.Tensor, u: tf.Tensor, v: tf.Tensor, history: History, limit: tf.Tensor
        ) -> tuple[tf.Tensor, ...]:
            products = tf.linalg.matvec(kernel, v)
            limit = stop(done, limit, u * products)
            u = if_active(done, limit, ratio(problem, problem.rows, products), u)
            products = tf.linalg.matvec(kernel, u, transpose_a=True)
            v = if_active(done, limit, ratio(problem, problem.columns, products), v)
            log_u, log_v = log(problem, u), log(problem, v)
            safe = tf.reduce_max(tf.abs(tf.concat([log_u, log_v], axis=1))) < SAFE_EXPONENT  # which NaN is not
            return done + tf.cast(safe, tf.int32), safe, u, v, history.put(done + 1, base + log_u, g + log_v), limit

        def in_log_space() -> tuple[tf.Tensor, ...]:
            row_sums = ratio(problem, problem.rows, tf.reduce_sum(kernel, axis=2))
            new_f = if_active(first, limit, base + log(problem, row_sums), f)
            new_g = if_active(first, limit, column_potential(problem, new_f), g)
            return first + 1, new_f, new_g, *history.put(first + 1, new_f, new_g)

        u = tf.cast(tf.exp(f - base), kernel.dtype)
        done, _, _, _, scaled_history, limit = tf.while_loop(
            lambda done, safe, u, v, history, limit: tf.logical_and(safe, unfinished(done, limit)),
            scaled,
            (first, tf.constant(True), u, tf.ones_like(problem.columns), history, limit),
        )
        done, f, g, *history = tf.cond(
            done > first,
            lambda: (done, scaled_history.f[done], scaled_history.g[done], *scaled_history),
            in_log_space,
        )
        return done, f, g, History(*history), limit

    _, _, _, history, limit = tf.while_loop(
        lambda done, f, g, history, limit: unfinished(done, limit),
        from_new_kernel,
        (tf.constant(0), f, g, history, limit),
    )
    return history, limit


def row_base(problem: SinkhornMarginals, g: tf.Tensor) -> tf.Tensor:
    """Minus the largest of each row of scores / tau + g; 0 for a masked row, whose weights are 0 anyway."""
    return -tf.squeeze(_peak(problem.logits(tf.zeros_like(problem.rows, tf.float64), g), 2), 2)


def column_potential(problem: SinkhornMarginals, f: tf.Tensor) -> tf.Tensor:
    """g_j = log columns_j - logsumexp_i(scores_ij / tau + f_i)."""
    logits = problem.logits(f, tf.zeros_like(problem.columns, tf.float64))
    peak = _peak(logits, 1)
    total = tf.reduce_sum(tf.exp(tf.cast(logits - peak, problem.scores.dtype)), axis=1)
    return log(problem, problem.columns) - tf.squeeze(peak, 1) - log(problem, total)


def row_error(problem: SinkhornMarginals, row_sums: tf.Tensor) -> tf.Tensor:
    """The largest distance [B] of a row's sum from what it has to be."""
    return tf.reduce_max(tf.abs(row_sums - problem.rows), axis=-1)


def ratio(problem: SinkhornMarginals, marginal: tf.Tensor, products: tf.Tensor) -> tf.Tensor:
    """The scaling marginal / products; 1 where the marginal is 0, whose weights are 0 anyway."""
    if problem.whole:
        return marginal / products
    kept = marginal > 0
    return tf.where(kept, marginal / tf.where(kept, products, tf.ones_like(products)), tf.ones_like(products))


def log(problem: SinkhornMarginals, positive: tf.Tensor) -> tf.Tensor:
    """The logarithm in float64 of a scaling or a marginal; 0 for a marginal of 0."""
    wide = tf.cast(positive, tf.float64)
    return tf.math.log(wide if problem.whole else tf.where(wide > 0, wide, tf.ones_like(wide)))


def _peak(logits: tf.Tensor, axis: int) -> tf.Tensor:
    """The largest of the logits along an axis, which is kept; 0 where all are -inf."""
    peak = tf.reduce_max(logits, axis=axis, keepdims=True)
    return tf.where(tf.equal(peak, -math.inf), tf.zeros_like(peak), peak)
