"""Sinkhorn normalization of soft permutations, whose columns sum to about 1 already.

Every row and every column of a soft permutation has its largest weight at a pair of its own. Its scalings then stay
moderate: for NeuralSort and SoftSort of any scores and temperature, a row and a column scaling multiply to at most
about n. So float32 is enough, and weights that underflow do not matter.
"""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.lists import flatten_lists
from keras_softsort.ops.matching._iterations import Plan, backward, forward
from keras_softsort.ops.matching._marginals import SinkhornMarginals
from keras_softsort.ops.matching._scalings import Scalings


def doubly_stochastic(weights: tf.Tensor, num_iterations: int, tolerance: float) -> tf.Tensor:
    """`weights` [..., n, n], with rows that sum to 1, after iterations that make its columns sum to 1 as well.

    A matrix stops once its row sums are within `tolerance` of 1. The gradient is that of the iterations made. A block
    of masked rows and items needs no mask, if it is a soft permutation of its own.
    """
    plan = Plan(num_iterations, tolerance)

    @tf.custom_gradient
    def normalized(kernel: tf.Tensor) -> tuple:
        ones = tf.ones_like(tf.linalg.diag_part(kernel))
        way = Scalings(_all_ones(kernel, ones), kernel, ones, plan.unroll)
        result, *run = forward(way, plan)

        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            return tf.math.divide_no_nan(backward(way, plan, run, upstream), kernel)

        return result, gradient

    result = normalized(flatten_lists(weights, inner=2))
    return tf.ensure_shape(tf.reshape(result, tf.shape(weights)), weights.shape)


def _all_ones(kernel: tf.Tensor, ones: tf.Tensor) -> SinkhornMarginals:
    """The marginals of matrices without masks, with sums of 1 in every row and column."""
    valid = tf.ones_like(kernel, tf.bool)
    return SinkhornMarginals(
        scores=kernel,
        inverse_tau=tf.ones([], kernel.dtype),
        possible=valid,
        rows=ones,
        columns=ones,
        failed=tf.zeros(tf.shape(ones)[:1], tf.bool),
        never=tf.constant(False),
        whole=True,
    )
