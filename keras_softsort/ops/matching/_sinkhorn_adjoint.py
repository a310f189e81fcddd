"""The gradient of Sinkhorn iterations, exact for those made, by walking back through their potentials.

With y = dg_j / columns_j and W = exp(scores / tau + f_t + g_t), undoing the column step of iteration t takes W_ij y_j
from the gradient of the logits and W y from that of f_t; undoing the row step does the same with
exp(scores / tau + f_t + g_{t-1}). Both matrices are scalings of one kernel as long as the potentials stay near: then
a step is two matrix-vector products, and what many steps take from the logits is one matrix product.
"""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.matching._marginals import SinkhornMarginals
from keras_softsort.ops.matching._sinkhorn_iterations import SAFE_EXPONENT, History, put


def sinkhorn_adjoint(
    problem: SinkhornMarginals,
    history: History,
    start: tf.Tensor,
    made: tf.Tensor,
    gradients: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Undo the iterations of `history`, of which number `start` was the first; matrix b made `made[b]` in all.

    `gradients` are those of the logits [B, N, M] and of both potentials after the last iteration; returned are those
    before the first.
    """
    length = tf.shape(history.f)[0] - 1

    def step(index: tf.Tensor, scaling: tuple, kernels: tuple, d_f: tf.Tensor, d_g: tf.Tensor) -> tuple:
        """Undo one iteration: x and y as above, the gradients before it. A kernel counts with its scaling."""
        (u, v, v_before), (after, before) = scaling, kernels
        active = (start + index <= made)[:, tf.newaxis]
        y = tf.where(active, v * _share(problem, d_g, problem.columns), tf.zeros_like(d_g))
        d_f = d_f - u * tf.linalg.matvec(after, y)
        x = tf.where(active, u * _share(problem, d_f, problem.rows), tf.zeros_like(d_f))
        d_g = tf.where(active, -v_before * tf.linalg.matvec(before, x, transpose_a=True), d_g)
        return x, y, tf.where(active, tf.zeros_like(d_f), d_f), d_g

    def from_new_kernel(index: tf.Tensor, d_logits: tf.Tensor, d_f: tf.Tensor, d_g: tf.Tensor) -> tuple[tf.Tensor, ...]:
        f, g = history.f[index], history.g[index]
        kernel = problem.weights(f, g)

        def moved(index: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            return history.f[index] - f, history.g[index] - g, history.g[index - 1] - g

        def near(index: tf.Tensor) -> tf.Tensor:
            return tf.reduce_all([tf.reduce_all(tf.abs(change) < SAFE_EXPONENT) for change in moved(index)])

        def scaled(index: tf.Tensor, d_f: tf.Tensor, d_g: tf.Tensor, taken: tuple) -> tuple:
            u, v, v_before = (tf.exp(tf.cast(change, d_f.dtype)) for change in moved(index))
            x, y, d_f, d_g = step(index, (u, v, v_before), (kernel, kernel), d_f, d_g)
            taken = tuple(put(kept, index, new) for kept, new in zip(taken, (u, x, y, v_before), strict=True))
            return index - 1, d_f, d_g, taken

        def in_log_space() -> tuple[tf.Tensor, ...]:
            before = problem.weights(f, history.g[index - 1])
            x, y, of_f, of_g = step(index, (1.0, 1.0, 1.0), (kernel, before), d_f, d_g)
            of_logits = d_logits - kernel * y[:, tf.newaxis, :] - before * x[:, :, tf.newaxis]
            return index - 1, of_logits, of_f, of_g

        nothing = tuple(tf.zeros_like(part, d_f.dtype) for part in (history.f, history.f, history.g, history.g))
        reached, of_f, of_g, (u, x, y, v) = tf.while_loop(
            lambda index, *_: tf.logical_and(index > 0, near(tf.maximum(index, 1))), scaled, (index, d_f, d_g, nothing)
        )

        def all_taken() -> tuple[tf.Tensor, ...]:
            taken = tf.einsum("tbn,tbm->bnm", tf.concat([u, x], 0), tf.concat([y, v], 0))
            return reached, d_logits - kernel * taken, of_f, of_g

        return tf.cond(reached < index, all_taken, in_log_space)

    last = tf.minimum(length, tf.reduce_max(made) - start)
    _, *gradients = tf.while_loop(lambda index, *_: index > 0, from_new_kernel, (last, *gradients))
    return tuple(gradients)


def _share(problem: SinkhornMarginals, gradient: tf.Tensor, marginal: tf.Tensor) -> tf.Tensor:
    """A gradient over its marginal; 0 where the marginal is 0, nothing to do where all are 1."""
    return gradient if problem.whole else tf.math.divide_no_nan(gradient, marginal)
