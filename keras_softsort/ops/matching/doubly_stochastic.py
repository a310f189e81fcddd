"""Soft permutations made doubly stochastic, by Sinkhorn iterations on scalings of one kernel."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._internal.arguments import dtype_tiny
from keras_softsort.ops.core.axes import flatten_lists, with_static_shape
from keras_softsort.ops.core.target import unrolls_iterations
from keras_softsort.ops.matching._sinkhorn_scan import scan
from keras_softsort.ops.matching._sinkhorn_solvers import times

# The most iterations of a round.
LONGEST = 8


def doubly_stochastic(weights: tf.Tensor, num_iterations: int, tolerance: float) -> tf.Tensor:
    """Normalize soft permutations K [..., n, n], whose rows sum to 1, until their columns sum to 1 as well.

    The result is `u_i K_ij v_j`. An iteration is u = 1 / (K v), v = 1 / (K^T u). After each round of them, a matrix
    stops if its row sums are within `tolerance` of 1. A block of masked rows and items needs no mask, if it is a soft
    permutation of its own. Each row and column of a soft permutation has its largest weight at a pair of its own, so
    scalings multiply to at most about n, and weights that underflow do not matter.
    """
    length = max(each for each in range(1, LONGEST + 1) if num_iterations % each == 0)
    unrolled = length if unrolls_iterations() else 1  # the iterations of a step of the loop
    steps = num_iterations // unrolled

    @tf.custom_gradient
    def normalized(kernel: tf.Tensor) -> tuple:
        row_sums = tf.reduce_sum(kernel, axis=2)
        ones, made = tf.ones_like(row_sums), tf.zeros(tf.shape(kernel)[:1], tf.int32)

        def step(index: tf.Tensor, state: tuple) -> tuple[tuple, tuple]:
            u, v, row_sums, made, goes_on = state
            left, right = [], [v]
            for _ in range(unrolled):
                left.append(_inverse(row_sums))
                right.append(_inverse(times(kernel, left[-1], axis=1)))
                row_sums = times(kernel, right[-1])
            error = tf.reduce_max(tf.abs(left[-1] * row_sums - 1), axis=1)
            is_within_round = tf.not_equal((index + 1) % (length // unrolled), 0)
            made = tf.where(goes_on, made + 1, made)
            u, v, row_sums = (
                tf.where(goes_on[:, tf.newaxis], new, old)
                for new, old in ((left[-1], u), (right[-1], v), (row_sums, state[2]))
            )
            goes_on &= is_within_round | (error > tolerance)
            return (u, v, row_sums, made, goes_on), (tf.stack(left), tf.stack(right))

        (u, v, _, made, _), stored = scan(
            step,
            (ones, ones, row_sums, made, tf.equal(made, 0)),
            outputs_like=tuple(tf.zeros_like(tf.stack([ones] * count)) for count in (unrolled, unrolled + 1)),
            length=steps,
            is_running=lambda _, state: tf.reduce_any(state[-1]),
        )

        normal = u[:, :, tf.newaxis] * kernel * v[:, tf.newaxis, :]

        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            # The gradients of the kernel, and of log u and log v after the last iteration.
            products, d_kernel = normal * upstream, u[:, :, tf.newaxis] * v[:, tf.newaxis, :] * upstream
            d_u, d_v = tf.reduce_sum(products, axis=2), tf.reduce_sum(products, axis=1)

            def reverse(index: tf.Tensor, state: tuple, left: tf.Tensor, right: tf.Tensor) -> tuple[tuple, tuple]:
                d_u, d_v = state
                is_made = (index < made)[:, tf.newaxis]
                x, y = (tf.where(is_made, each, tf.zeros_like(each)) for each in (d_u, d_v))
                scalings = list(zip(tf.unstack(left), tf.unstack(right[:-1]), tf.unstack(right[1:]), strict=True))
                of_u: list[tf.Tensor] = []
                of_v: list[tf.Tensor] = []
                for u, v_before, v in reversed(scalings):
                    # Each u lowers all v by its share in their sums, and so does each v before for all u.
                    of_v.insert(0, v * y)
                    of_u.insert(0, u * (x - u * times(kernel, of_v[0])))
                    x, y = 0.0, -v_before * times(kernel, of_u[0], axis=1)
                state = tf.where(is_made, tf.zeros_like(d_u), d_u), tf.where(is_made, y, d_v)
                return state, (tf.stack(of_u), tf.stack(of_v))

            left, right = stored[0], stored[1][:, :-1]
            _, (of_u, of_v) = scan(
                reverse,
                (d_u, d_v),
                stored,
                outputs_like=(tf.zeros_like(left[0]),) * 2,
                length=steps,
                reverse_from=tf.reduce_max(made),
            )
            rows, columns = (
                tf.reshape(tf.concat(each, axis=0), [-1, *tf.unstack(tf.shape(ones))])
                for each in ((left, of_u), (of_v, right))
            )
            d_kernel -= tf.matmul(tf.transpose(rows, [1, 2, 0]), tf.transpose(columns, [1, 0, 2]))
            # A product of scalings may overflow where the weight underflows.
            return tf.where(kernel >= dtype_tiny(kernel.dtype), d_kernel, tf.zeros_like(d_kernel))

        return normal, gradient

    result = normalized(flatten_lists(weights, inner=2))
    return with_static_shape(tf.reshape(result, tf.shape(weights)), weights.shape)


def _inverse(sums: tf.Tensor) -> tf.Tensor:
    return 1 / tf.maximum(sums, dtype_tiny(sums.dtype))
