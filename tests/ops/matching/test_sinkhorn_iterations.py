"""Soft permutations that are made doubly stochastic: values, gradients, and when a matrix stops."""

import numpy as np
import pytest
import tensorflow as tf
from support.gradients import central_differences, fixed_weights, tape_gradients

from keras_softsort.ops.matching.sinkhorn_iterations import doubly_stochastic

# The first matrix is nearly doubly stochastic, and the last one is not.
LOGITS = np.random.default_rng(0).normal(size=(3, 4, 4)) * np.array([1e-3, 0.1, 2.0])[:, np.newaxis, np.newaxis]
SOFT = np.exp(LOGITS) / np.sum(np.exp(LOGITS), axis=2, keepdims=True)


def truth(matrix, iterations):
    for _ in range(iterations):
        matrix = matrix / matrix.sum(axis=-1, keepdims=True)
        matrix = matrix / matrix.sum(axis=-2, keepdims=True)
    return matrix


def check(matrices, iterations, found, gradient, weights):
    for i, made in enumerate(iterations):
        np.testing.assert_allclose(found[i], truth(matrices[i], made), rtol=1e-11)
        (wanted,) = central_differences(lambda m, made=made: truth(m, made), [matrices[i]], weights[i])
        np.testing.assert_allclose(gradient[i], wanted, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("num_iterations", [1, 10, 11])
def test_values_and_gradients_are_those_of_the_iterations(num_iterations):
    weights = fixed_weights(SOFT.shape)
    found, (gradient,) = tape_gradients(
        lambda m: doubly_stochastic(m, num_iterations, 0.0), [tf.constant(SOFT)], weights
    )
    check(SOFT, [num_iterations] * 3, found, gradient, weights)


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [None, True])
def test_each_matrix_stops_by_itself_after_a_round(jit_compile):
    """30 iterations are 5 rounds of 6."""
    weights, tolerance = fixed_weights(SOFT.shape), 1e-4
    errors = [np.abs(truth(SOFT, made).sum(axis=2) - 1).max(axis=1) for made in range(6, 31, 6)]
    stops = 6 * (1 + np.argmax(np.array(errors) <= tolerance, axis=0))
    assert stops[0] == 6 < stops[2] < 30
    compute = tf.function(lambda m: doubly_stochastic(m, 30, tolerance), jit_compile=jit_compile)
    found, (gradient,) = tape_gradients(compute, [tf.constant(SOFT)], weights)
    check(SOFT, stops, found, gradient, weights)


def test_a_matrix_of_nan_leaves_the_others_alone():
    matrices = np.concatenate([SOFT, np.full((1, 4, 4), np.nan)])
    found = doubly_stochastic(tf.constant(matrices), 30, 1e-6)
    np.testing.assert_array_equal(found[:3], doubly_stochastic(tf.constant(SOFT), 30, 1e-6))
    assert np.all(np.isnan(found[3]))
