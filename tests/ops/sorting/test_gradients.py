"""Gradients with respect to scores, temperature and values against central differences of the float64 formula."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from support.cases.op_case import MASK, MATRICES, SCORES, TAU
from support.gradients import ATOL, RTOL, central_differences, check_gradients, fixed_weights, tape_gradients
from support.oracles import sorting as oracles

from keras_softsort import ops

TIED = np.array([0.5, 2.0, 0.5, -1.0, 2.0, 0.5])
GROUPS = [[0, 2, 5], [1, 4], [3]]


def test_soft_sort_gradient_with_a_power_below_one():
    # The slope at the peak is infinite there and taken as 0, so its own term is left out: a list of two has no other
    # item tied with the row, and the row's own difference is 0 whatever the step.
    check_gradients(lambda s, tau: ops.soft_sort(s, tau, power=0.5), [0.9, -0.4], 0.7)


def test_masked_values_get_no_gradient():
    values = tf.constant(fixed_weights([2, 5, 3]))
    for carried in (values, values[..., 0]):
        with tf.GradientTape() as tape:
            tape.watch(carried)
            result = ops.soft_values(tf.constant(SCORES), TAU, values=carried, mask=MASK)
        gradient = tape.gradient(result, carried).numpy()
        np.testing.assert_array_equal(gradient[~MASK], 0)
        assert np.all(gradient[MASK] > 0)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    "options", [{"method": "neural_sort"}, {"method": "soft_sort"}, {"method": "soft_sort", "power": 2.0}], ids=str
)
def test_second_derivatives_are_differences_of_gradients(options, masked):
    options = dict(options)
    op = getattr(ops, options.pop("method"))
    mask = MASK if masked else None
    weights, direction = fixed_weights([2, 5, 5]), fixed_weights([2, 5], seed=8)

    def directional_derivative(scores, tau):
        _, (of_scores, of_tau) = tape_gradients(lambda s, t: op(s, t, mask=mask, **options), [scores, tau], weights)
        return tf.stack([tf.reduce_sum(of_scores * direction), of_tau])

    check_gradients(directional_derivative, SCORES, TAU, rtol=1e-5, atol=1e-6)


def _gradient(method, scores, weights, **options):
    op = getattr(ops, method)
    return tape_gradients(lambda s: op(s, TAU, **options), [tf.constant(scores)], weights)[1][0].numpy()


@pytest.mark.parametrize("direction", ["DESCENDING", "ASCENDING"])
@pytest.mark.parametrize("masked", [False, True])
def test_neural_sort_gradient_at_ties_has_slope_zero_between_them(masked, direction):
    options = {"mask": np.array([True, True, True, False, True, True]) if masked else None, "direction": direction}
    weights = fixed_weights([6, 6])
    found = _gradient("neural_sort", TIED, weights, **options)
    # Central differences of |x| at 0 are 0, so this is the formula's gradient with sign(0) = 0; the curvature at a tie
    # leaves an error of the order of the step.
    truth = functools.partial(oracles.neural_sort, tau=TAU, **options)
    (wanted,) = central_differences(truth, [TIED], weights, step=1e-7)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("power", [1.0, 2.0, 1.5, 0.5])
@pytest.mark.parametrize("masked", [False, True])
def test_soft_sort_gradient_at_ties_has_slope_zero_between_them(masked, power):
    keep = np.array([True, True, True, False, True, True]) if masked else np.ones(6, bool)
    weights = fixed_weights([6, 6])
    found = _gradient("soft_sort", TIED, weights, mask=keep if masked else None, power=power)
    wanted = np.zeros(6)
    wanted[keep] = oracles.soft_sort_gradient(TIED[keep], TAU, weights[: keep.sum(), keep], power)
    # No share of a rank is lost. The next test checks which of the tied items gets it.
    for group in GROUPS:
        np.testing.assert_allclose(found[group].sum(), wanted[group].sum(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("method", MATRICES)
def test_tied_items_have_equal_gradients_where_the_loss_treats_them_alike(method):
    weights = fixed_weights([6, 6])
    for group in GROUPS:
        weights[:, group] = weights[:, group[:1]]
    found = _gradient(method, TIED, weights)
    assert np.max(np.abs(found)) > 0.1
    for group in GROUPS:
        np.testing.assert_allclose(found[group], found[group[0]], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("method", MATRICES)
def test_hard_has_the_gradient_of_the_soft_one(method, masked):
    mask = MASK if masked else None
    weights = fixed_weights([2, 5, 5])
    soft = _gradient(method, SCORES, weights, mask=mask)
    assert np.max(np.abs(soft)) > 0.1
    np.testing.assert_array_equal(_gradient(method, SCORES, weights, mask=mask, hard=True), soft)


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("method", MATRICES)
def test_harden_passes_the_gradient_of_the_soft_one(method, compiled):
    op = getattr(ops, method)
    weights = fixed_weights([2, 5, 5])

    def gradient(scores, hard):
        through = (lambda s: ops.harden(op(s, TAU))) if hard else lambda s: op(s, TAU)
        return tape_gradients(through, [scores], weights)[1][0]

    if compiled:
        gradient = tf.function(gradient, jit_compile=True)
    scores = tf.constant(SCORES)
    np.testing.assert_array_equal(gradient(scores, True), gradient(scores, False))


@pytest.mark.parametrize("method", MATRICES)
def test_gradient_reaches_a_variable_temperature(method):
    tau = tf.Variable(TAU, dtype=tf.float64)
    weights = fixed_weights([2, 5, 5])
    with tf.GradientTape() as tape:
        value = getattr(ops, method)(tf.constant(SCORES), tau)
    found = tape.gradient(value, tau, output_gradients=tf.constant(weights))
    (wanted,) = central_differences(lambda t: getattr(oracles, method)(SCORES, t), [TAU], weights)
    np.testing.assert_allclose(found, wanted, rtol=RTOL, atol=ATOL)
