"""How much of float32 the operators keep, on long lists and far from 0; and agreement with TensorFlow Probability.

NeuralSort is as exact as the published formula on scores around 0. SoftSort keeps five digits.
"""

import numpy as np
import pytest
import tensorflow as tf
from support.oracles import sorting as oracles

from keras_softsort import ops

SIZE = 5000
# Ends, middle and what lies between, so that both the steep and the flat rows are looked at.
ROWS = np.unique(np.concatenate([[0, 1, SIZE // 2, SIZE - 2, SIZE - 1], np.arange(7, SIZE, 97)]))
LONG = np.random.default_rng(0).normal(size=SIZE).astype(np.float32)


@pytest.fixture(scope="module")
def long_rows():
    """ROWS of SoftSort's matrix of LONG at a temperature; traced, so that all temperatures share one graph."""
    return tf.function(lambda tau: tf.gather(ops.soft_sort(tf.constant(LONG), tau), ROWS))


@pytest.mark.slow
@pytest.mark.parametrize(("tau", "atol"), [(100.0, 1e-5), (1.0, 1e-5), (0.1, 1e-5), (0.01, 1e-4)])
def test_soft_sort_keeps_five_digits_on_long_lists(long_rows, tau, atol):
    found = long_rows(tf.constant(tau)).numpy()
    # The float32 temperature, as float32 scores, is exact: only what the operator loses is measured.
    wanted = oracles.soft_sort_rows(LONG.astype(np.float64), np.float64(np.float32(tau)), ROWS)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=atol)
    # At a high temperature all weights are about 1 / n, and an absolute bound alone would accept anything.
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-5)
    large = wanted > wanted.max(axis=1, keepdims=True) / 2
    np.testing.assert_allclose(found[large], wanted[large], rtol=max(1e-2, 20 * atol))


def published(scores, tau):
    """NeuralSort's formula in plain float32."""
    sums = tf.reduce_sum(tf.abs(scores[:, tf.newaxis] - scores), axis=1)
    size = len(scores)
    slopes = tf.range(size - 1, -size, -2, dtype=tf.float32)[:, tf.newaxis]
    return tf.nn.softmax((slopes * scores - sums) / tau)


def is_as_exact(found, formula, wanted):
    """Whether the largest error is at most that of the formula, up to a factor for chance and one rounding."""
    error, allowed = (np.max(np.abs(each - wanted)) for each in (found, formula))
    return error <= 1.5 * allowed + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("offset", [0, 1024, -(2**20)])
@pytest.mark.parametrize("tau", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("size", [16, 50, 128, 1000])
def test_neural_sort_is_as_exact_as_its_formula_on_centered_scores(size, tau, offset):
    """A graph is as exact, although its optimizer regroups products of constants."""
    # Multiples of 1 / 8, so that the offset changes no difference.
    scores = np.round(8 * np.random.default_rng(size).normal(size=size)).astype(np.float32) / 8
    if not offset:
        scores = np.random.default_rng(size).normal(size=size).astype(np.float32)
    wanted = oracles.neural_sort(scores, np.float64(np.float32(tau)))
    formula = published(tf.constant(scores), tau)
    for run in (ops.neural_sort, tf.function(ops.neural_sort)):
        assert is_as_exact(run(tf.constant(scores + np.float32(offset)), tau), formula, wanted)


@pytest.mark.nightly
def test_neural_sort_is_as_exact_as_its_formula_when_compiled():
    scores = np.random.default_rng(0).normal(size=128).astype(np.float32)
    wanted = oracles.neural_sort(scores, np.float64(np.float32(0.1)))
    run = tf.function(lambda s: ops.neural_sort(s, 0.1), autograph=False, jit_compile=True)
    assert is_as_exact(run(tf.constant(scores)), published(tf.constant(scores), 0.1), wanted)


@pytest.mark.parametrize("outlier", [1e5, -1e6, 1e30])
@pytest.mark.parametrize("size", [16, 128])
def test_an_outlier_costs_the_other_scores_of_neural_sort_no_digits(size, outlier):
    scores = np.random.default_rng(size).normal(size=size).astype(np.float32)
    # The others do not tell an outlier from one that is as far as no weight reaches.
    scores[3] = np.sign(outlier) * 400
    wanted = oracles.neural_sort(scores, 1.0)
    formula = published(tf.constant(scores), 1.0)
    scores[3] = outlier
    assert is_as_exact(ops.neural_sort(tf.constant(scores), 1.0), formula, wanted)


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


@pytest.mark.slow
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
def test_soft_sort_far_from_zero(tau):
    scores = (1000 + np.random.default_rng(1).normal(size=500)).astype(np.float32)
    found = ops.soft_sort(tf.constant(scores), tau)
    wanted = oracles.soft_sort(scores, np.float64(np.float32(tau)))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("offset", [0, 1024])
def test_gradient_of_neural_sort_is_as_exact_as_that_of_its_formula(offset):
    size, tau = 1000, 1.0
    scores = np.round(64 * LONG[:size]) / 64
    weights = np.random.default_rng(2).normal(size=[size, size]).astype(np.float32)

    def gradient(operator, scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            value = operator(scores, tau)
        return tape.gradient(value, scores, output_gradients=tf.constant(weights, value.dtype)).numpy()

    wanted = gradient(ops.neural_sort, tf.constant(scores, tf.float64))
    found = gradient(ops.neural_sort, tf.constant(scores + np.float32(offset)))
    assert np.max(np.abs(wanted)) > 5
    assert is_as_exact(found, gradient(published, tf.constant(scores)), wanted)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # TFP's import asks distutils for versions
@pytest.mark.parametrize("tau", [0.1, 1.0, 10.0])
def test_neural_sort_agrees_with_tensorflow_probability(tau):
    import tensorflow_probability as tfp

    scores = np.random.default_rng(4).normal(size=[3, 7])
    found = ops.neural_sort(tf.constant(scores), tau)
    wanted = tfp.math.soft_sorting_matrix(tf.constant(scores), tf.constant(tau, tf.float64))
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13)
