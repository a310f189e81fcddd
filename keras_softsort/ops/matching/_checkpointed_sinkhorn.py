"""Sinkhorn as one differentiable function whose memory does not grow with the number of iterations."""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops.matching._marginals import SinkhornMarginals
from keras_softsort.ops.matching._sinkhorn_adjoint import sinkhorn_adjoint
from keras_softsort.ops.matching._sinkhorn_iterations import History, empty_history, iterate

# Up to so many iterations the potentials of all are kept; beyond, those of every sqrt(num_iterations)-th.
KEPT_ITERATIONS = 32


class Run(NamedTuple):
    """Iterations made in segments: the potentials before each segment and within the last one."""

    starts: History  # [segments, B, ...]
    last: History  # [length + 1, B, ...]
    made: tf.Tensor  # [B] int32: the number of iterations of each matrix


def checkpointed_sinkhorn(problem: SinkhornMarginals, num_iterations: int, tolerance: float | None) -> tf.Tensor:
    """The weights [B, N, M] after the iterations, NaN for matrices that failed; differentiable in scores and tau."""

    @tf.custom_gradient
    def weights(scores: tf.Tensor, inverse_tau: tf.Tensor) -> tuple:
        given = problem._replace(scores=scores, inverse_tau=inverse_tau)
        length = max(KEPT_ITERATIONS, math.isqrt(num_iterations - 1) + 1)
        run = _run(given, num_iterations, min(length, num_iterations), tolerance)
        f, g = _final(run)
        result = given.weights(f, g)
        result = tf.where(given.failed[:, tf.newaxis, tf.newaxis], tf.constant(math.nan, result.dtype), result)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            d_logits = _logits_gradient(given, run, result * upstream)
            relative = given.logits(f, tf.zeros_like(g))
            # Rows of the gradient sum to 0: logits relative to the row lose no digits to a common level.
            relative = tf.where(relative > -math.inf, relative, tf.zeros_like(relative))
            d_inverse_tau = tf.reduce_sum(tf.cast(d_logits, tf.float64) * relative) / inverse_tau
            return d_logits * tf.cast(inverse_tau, d_logits.dtype), d_inverse_tau

        return result, gradient

    return weights(problem.scores, problem.inverse_tau)


def _run(problem: SinkhornMarginals, num_iterations: int, length: int, tolerance: float | None) -> Run:
    segments = -(-num_iterations // length)
    limit = tf.fill(tf.shape(problem.rows)[:1], num_iterations)

    def segment(index: tf.Tensor, starts: History, last: History, limit: tf.Tensor) -> tuple:
        # A segment that is followed by another one was filled to its end; before the first one all is 0.
        f, g = last.f[length], last.g[length]
        last, limit = iterate(problem, f, g, start=index * length, limit=limit, length=length, tolerance=tolerance)
        return index + 1, starts.put(index, f, g), last, limit

    _, starts, last, made = tf.while_loop(
        lambda index, _starts, _last, limit: tf.reduce_any(index * length < limit),
        segment,
        (tf.constant(0), empty_history(problem, segments), empty_history(problem, length + 1), limit),
        maximum_iterations=segments,
    )
    return Run(starts, last, made)


def _last_segment(run: Run) -> tuple[tf.Tensor, tf.Tensor]:
    """Its index, and the number of iterations made before it."""
    length = tf.shape(run.last.f)[0] - 1
    index = (_most(run.made) - 1) // length
    return index, index * length


def _most(made: tf.Tensor) -> tf.Tensor:
    """The largest number of iterations; 1 for an empty batch, which has no largest."""
    return tf.reduce_max(tf.concat([made, [1]], axis=0))


def _final(run: Run) -> tuple[tf.Tensor, tf.Tensor]:
    """The potentials after the last iteration."""
    done = _most(run.made) - _last_segment(run)[1]
    return run.last.f[done], run.last.g[done]


def _logits_gradient(problem: SinkhornMarginals, run: Run, direct: tf.Tensor) -> tf.Tensor:
    """The gradient of the logits, given the one at fixed potentials."""
    index, start = _last_segment(run)
    gradients = direct, tf.reduce_sum(direct, axis=2), tf.reduce_sum(direct, axis=1)
    gradients = sinkhorn_adjoint(problem, run.last, start, run.made, gradients)
    length = run.last.f.shape[0] - 1

    def segment(index: tf.Tensor, *gradients: tf.Tensor) -> tuple:
        start = index * length
        f, g = run.starts.f[index], run.starts.g[index]
        history, _ = iterate(problem, f, g, start=start, limit=run.made, length=length, tolerance=None)
        return index - 1, *sinkhorn_adjoint(problem, history, start, run.made, gradients)

    if run.starts.f.shape[0] > 1:
        _, *gradients = tf.while_loop(lambda index, *_: index >= 0, segment, (index - 1, *gradients))
    return gradients[0]
