"""Spearman's loss beyond its oracle: second derivatives of eager calls, and very long lists."""

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort import ops


@pytest.mark.slow
@pytest.mark.traced_eagerly
@pytest.mark.parametrize(
    "method", ["soft_sort", *(pytest.param(each, marks=pytest.mark.nightly) for each in ("neural_sort", "lapsum"))]
)
def test_second_derivatives_of_eager_calls_are_differences(method):
    scores, direction = tf.constant([0.5, 0.1, 0.9, 0.3], tf.float64), np.array([1, 2, -1, 0.5])

    def slope(scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            loss = ops.spearman_loss(scores, [1, 2, 0, 3], method=method)
        return tf.reduce_sum(tape.gradient(loss, scores) * direction)

    with tf.GradientTape() as tape:
        tape.watch(scores)
        value = slope(scores)
    step = 1e-5
    difference = (slope(scores + step * direction) - slope(scores - step * direction)) / (2 * step)
    np.testing.assert_allclose(tf.reduce_sum(tape.gradient(value, scores) * direction), difference, rtol=1e-5)


@pytest.mark.nightly
def test_seven_million_ranks_do_not_overflow():
    size = 7_000_000
    scores, labels = np.linspace(0, 1000, size, dtype="float32"), np.arange(size, dtype="float32")[::-1]
    np.testing.assert_allclose(ops.spearman_loss(scores, labels, tau=1e-4, method="lapsum"), 2, rtol=1e-5)
