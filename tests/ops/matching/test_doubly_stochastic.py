"""Soft permutations that are made doubly stochastic: values, gradients, and when a matrix stops."""

import numpy as np
import pytest
import tensorflow as tf
from support.gradients import central_differences, fixed_weights, tape_gradients

from keras_softsort.ops.core.target import lowering_for, unrolls_iterations
from keras_softsort.ops.matching.doubly_stochastic import doubly_stochastic

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


@pytest.mark.parametrize(("target", "jit_compile"), [("cpu", False), ("cpu", True), ("gpu", True)])
def test_each_matrix_stops_by_itself_after_a_round(target, jit_compile):
    """30 iterations are 5 rounds of 6, also where XLA for CPUs makes them one by one."""
    weights, tolerance = fixed_weights(SOFT.shape), 1e-4
    errors = [np.abs(truth(SOFT, made).sum(axis=2) - 1).max(axis=1) for made in range(6, 31, 6)]
    stops = 6 * (1 + np.argmax(np.array(errors) <= tolerance, axis=0))
    assert stops[0] == 6 < stops[2] < 30
    compute = tf.function(lambda m: doubly_stochastic(m, 30, tolerance), jit_compile=jit_compile)
    with lowering_for(target):
        found, (gradient,) = tape_gradients(compute, [tf.constant(SOFT)], weights)
    check(SOFT, stops, found, gradient, weights)


@pytest.mark.parametrize(
    ("target", "jit_compile", "expected"), [("cpu", False, True), ("cpu", True, False), ("gpu", True, True)]
)
def test_xla_for_cpus_makes_single_iterations(target, jit_compile, expected):
    found = []

    @tf.function(jit_compile=jit_compile)
    def trace():
        found.append(unrolls_iterations())

    with lowering_for(target):
        trace()
    assert found == [expected]


def test_a_matrix_of_nan_leaves_the_others_alone():
    matrices = np.concatenate([SOFT, np.full((1, 4, 4), np.nan)])
    found = doubly_stochastic(tf.constant(matrices), 30, 1e-6)
    np.testing.assert_array_equal(found[:3], doubly_stochastic(tf.constant(SOFT), 30, 1e-6))
    assert np.all(np.isnan(found[3]))
