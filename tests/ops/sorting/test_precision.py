"""How much of float32 the operators keep, on long lists and far from 0; and agreement with TensorFlow Probability."""

import numpy as np
import pytest
import tensorflow as tf
from support.cases.op_case import MATRICES
from support.oracles import sorting as oracles

from keras_softsort import ops

pytestmark = pytest.mark.default_stack_only

SIZE = 5000
# Ends, middle and what lies between, so that both the steep and the flat rows are looked at.
ROWS = np.unique(np.concatenate([[0, 1, SIZE // 2, SIZE - 2, SIZE - 1], np.arange(7, SIZE, 97)]))
LONG = np.random.default_rng(0).normal(size=SIZE).astype(np.float32)


@pytest.fixture(scope="module")
def long_rows():
    """ROWS of either float32 matrix of LONG at a temperature; traced, so that all temperatures share one graph."""
    scores = tf.constant(LONG)
    return {
        op: tf.function(lambda tau, op=op: tf.gather(getattr(ops, op)(scores, tau), ROWS))
        for op in ("neural_sort", "soft_sort")
    }


@pytest.mark.parametrize(("tau", "atol"), [(100.0, 1e-5), (1.0, 1e-5), (0.1, 1e-5), (0.01, 1e-4)])
@pytest.mark.parametrize("op", MATRICES)
def test_float32_keeps_five_digits_on_long_lists(long_rows, op, tau, atol):
    found = long_rows[op](tf.constant(tau)).numpy()
    # The float32 temperature, as float32 scores, is exact: only what the operator loses is measured.
    wanted = getattr(oracles, f"{op}_rows")(LONG.astype(np.float64), np.float64(np.float32(tau)), ROWS)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=atol)
    # At a high temperature all weights are about 1 / n, and an absolute bound alone would accept anything.
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-5)
    large = wanted > wanted.max(axis=1, keepdims=True) / 2
    np.testing.assert_allclose(found[large], wanted[large], rtol=max(1e-2, 20 * atol))


@pytest.mark.parametrize("size", [16, 50, 128])
@pytest.mark.parametrize("jit_compile", [None, pytest.param(True, marks=pytest.mark.nightly)])
def test_float32_short_lists_in_a_graph(size, jit_compile):
    """As TensorFlow's graph optimizer leaves them, which regroups what it takes for products of constants."""
    scores = np.random.default_rng(size).normal(size=(16, size)).astype(np.float32)
    run = tf.function(lambda s: ops.neural_sort(s, 0.1), autograph=False, jit_compile=jit_compile)
    wanted = oracles.neural_sort(scores, np.float64(np.float32(0.1)))
    np.testing.assert_allclose(run(tf.constant(scores)), wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", [5, 40])
def test_float32_range_over_a_tiny_temperature(size):
    """Differences of scores, over such a temperature, are larger than any float32 number."""
    scores = np.linspace(5, 1, size).astype(np.float32)
    scores[:5] = [1, 1, 2, -3e3, 5e30]
    # The formula would round the others away beside the largest. Only their order and ties matter.
    _, places = np.unique(scores, return_inverse=True)
    expected = oracles.neural_sort(places, 1e-6)
    for run in (ops.neural_sort, tf.function(ops.neural_sort)):
        np.testing.assert_allclose(run(tf.constant(scores), 1e-30), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", [50, 200])
def test_temperature_has_no_gradient_where_only_ties_share(size):
    random = np.random.default_rng(size)
    scores, weights = np.round(random.normal(size=size), 1), random.normal(size=[size, size])

    @tf.function
    def slope(tau):
        with tf.GradientTape() as tape:
            tape.watch(tau)
            total = tf.reduce_sum(ops.neural_sort(tf.constant(scores, tf.float32), tau) * np.float32(weights))
        return tape.gradient(total, tau)

    assert abs(float(slope(tf.constant(1e-5)))) < 1e-3


@pytest.mark.parametrize("tau", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("op", MATRICES)
def test_float32_far_from_zero(op, tau):
    scores = (1000 + np.random.default_rng(1).normal(size=500)).astype(np.float32)
    found = getattr(ops, op)(tf.constant(scores), tau)
    wanted = getattr(oracles, op)(scores, np.float64(np.float32(tau)))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


def test_float32_gradient_on_a_long_list():
    size, tau = 1000, 1.0
    scores = LONG[:size]
    weights = np.random.default_rng(2).normal(size=[size, size])

    @tf.function
    def gradient(scores, weights):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            value = ops.neural_sort(scores, tau)
        return tape.gradient(value, scores, output_gradients=weights)

    single = gradient(tf.constant(scores), tf.constant(weights, tf.float32)).numpy()
    double = gradient(tf.constant(scores, tf.float64), tf.constant(weights.astype(np.float32), tf.float64)).numpy()
    assert np.max(np.abs(double)) > 5
    np.testing.assert_allclose(single, double, rtol=0, atol=2e-5 * np.max(np.abs(double)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # TFP's import asks distutils for versions
@pytest.mark.parametrize("tau", [0.1, 1.0, 10.0])
def test_neural_sort_agrees_with_tensorflow_probability(tau):
    import tensorflow_probability as tfp

    scores = np.random.default_rng(4).normal(size=[3, 7])
    found = ops.neural_sort(tf.constant(scores), tau)
    wanted = tfp.math.soft_sorting_matrix(tf.constant(scores), tf.constant(tau, tf.float64))
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13)
