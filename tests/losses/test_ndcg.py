"""The NDCG losses beside NDCG itself, and what their papers say of them."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from support import models
from support.cases.op_case import METHODS
from support.cases.ranking.neural_ndcg_loss import UNEVEN

import keras_softsort as ks
from keras_softsort.ops.matching.sinkhorn_iterations import doubly_stochastic

NONE = models.NO_REDUCTION
# Imports of scikit-learn warn.
pytestmark = [pytest.mark.default_stack_only, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def graded_lists(batch=6, n=7, seed=1, padding=True):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, size=(batch, n)).astype("float64")
    if padding:
        labels[0, [0, 3]] = labels[1, 2:6] = -1
    return labels, rng.normal(size=(batch, n))


def true_ndcg(labels, scores, k=None, gain="exponential"):
    """scikit-learn's, whose gains are the values that it is given."""
    from sklearn.metrics import ndcg_score

    results = []
    for own, score in zip(labels, scores, strict=True):
        keep = own >= 0
        gains = own[keep] if gain == "linear" else 2 ** own[keep] - 1
        results.append(ndcg_score([gains], [score[keep]], k=k))
    return np.array(results)


def each_list(loss, labels, scores, **arguments):
    return loss(reduction=NONE, **arguments)(labels, scores).numpy()


@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_a_cold_approximation_is_ndcg(gain):
    labels, scores = graded_lists()
    found = each_list(ks.ApproxNDCGLoss, labels, scores, tau=1e-5, gain=gain)
    np.testing.assert_allclose(found, -true_ndcg(labels, scores, gain=gain), rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("k", [None, 3, 20])
@pytest.mark.parametrize("num_iterations", [0, 50])
def test_a_cold_sort_is_ndcg(method, k, num_iterations):
    labels, scores = graded_lists()
    arguments = {"method": method, "k": k, "num_iterations": num_iterations}
    found = each_list(ks.NeuralNDCGLoss, labels, scores, tau=1e-6, **arguments)
    np.testing.assert_allclose(found, -true_ndcg(labels, scores, k=k), rtol=1e-9)


@pytest.mark.parametrize("num_iterations", [0, 50])
def test_a_hard_sort_has_the_value_of_ndcg_and_the_gradient_of_the_soft_one(num_iterations):
    labels, scores = graded_lists()
    values, gradients = [], []
    for hard in (True, False):
        x = tf.constant(scores)
        loss = ks.NeuralNDCGLoss(tau=2.0, k=4, hard=hard, num_iterations=num_iterations, reduction=NONE)
        with tf.GradientTape() as tape:
            tape.watch(x)
            values.append(loss(labels, x))
        gradients.append(tape.gradient(values[-1], x))
    np.testing.assert_allclose(values[0], -true_ndcg(labels, scores, k=4), rtol=1e-12)
    assert np.abs(values[1] - values[0]).max() > 0.01
    np.testing.assert_allclose(*gradients, rtol=1e-9, atol=1e-12)


def test_normalized_columns_keep_the_value_within_its_bounds():
    labels, scores = np.float64([[0, 0, 0, 3]]), np.float64([[0.0, 0.1, 0.2, 0.15]])
    assert -1 <= each_list(ks.NeuralNDCGLoss, labels, scores, tau=5.0)[0] <= 0
    labels, scores = np.float64([[0, 1, 0]]), np.float64([[5.0, 4.0, -1.0]])
    loose = each_list(ks.NeuralNDCGLoss, labels, scores, tau=20.0, num_iterations=0)
    tight = each_list(ks.NeuralNDCGLoss, labels, scores, tau=20.0)
    assert abs(loose[0] - tight[0]) > 0.01


@pytest.mark.parametrize("tau", [1e-3, pytest.param(1.0, marks=pytest.mark.nightly), 100.0])
@pytest.mark.parametrize("scores", UNEVEN.values(), ids=UNEVEN)
def test_float32_normalizes_uneven_lists(scores, tau):
    """Lists whose columns sum to anything from 1 / n to n before they are normalized, and one list beside them."""
    rng = np.random.default_rng(2)
    weights = ks.neural_sort(np.float32(np.stack([scores, rng.normal(size=40)])), tau)
    costs = rng.normal(size=weights.shape)
    found = []
    for dtype in (tf.float32, tf.float64):
        x = tf.cast(weights, dtype)
        with tf.GradientTape() as tape:
            tape.watch(x)
            matrix = doubly_stochastic(x, 50, 1e-6)
        # The gradient of the logarithms, since a weight near 0 has a large one.
        found.append((matrix, x * tape.gradient(matrix, x, output_gradients=tf.cast(costs, dtype))))
    (narrow, narrow_gradient), (wide, wide_gradient) = found
    np.testing.assert_allclose(narrow, wide, atol=1e-5)
    np.testing.assert_allclose(narrow_gradient, wide_gradient, atol=1e-4 * np.abs(wide_gradient).max())


def stochastic(**arguments):
    return ks.NeuralNDCGLoss(tau=1e-4, num_iterations=0, stochastic=True, reduction=NONE, **arguments)


@pytest.mark.parametrize("noise_scale", [0.5, 1.0])
def test_cold_samples_have_the_mean_ndcg_of_plackett_luce_orders(noise_scale):
    labels, scores = np.float64([[2, -1, 0, 1, 3]]), np.float64([[0.3, 9.0, 0.6, -0.4, 0.1]])
    shares, gains = np.exp(scores[0, [0, 2, 3, 4]] / noise_scale), np.float64([3, 0, 1, 7])
    expected = 0.0
    for order in itertools.permutations(range(4)):
        chance = np.prod([shares[item] / shares[list(order[i:])].sum() for i, item in enumerate(order)])
        expected += chance * np.sum(gains[list(order[:2])] / np.log2([2, 3]))
    expected /= np.sum([7, 3] / np.log2([2, 3]))
    found = stochastic(k=2, num_samples=20_000, noise_scale=noise_scale)(labels, scores)
    # A sample's NDCG has a standard deviation below 0.5, their mean one below 0.0036.
    assert float(found[0]) == pytest.approx(-expected, abs=0.015)


def test_samples_of_a_warm_sort_are_normalized():
    labels, scores = graded_lists(2, 4)
    arguments = {"tau": 2.0, "stochastic": True, "num_samples": 3, "noise_scale": 0.0, "reduction": NONE}
    for own in ({}, {"method": "soft_sort", "k": 2}, {"num_iterations": 0, "hard": True}):
        plain = ks.NeuralNDCGLoss(**{**arguments, "stochastic": False}, **own)(labels, scores)
        np.testing.assert_allclose(ks.NeuralNDCGLoss(**arguments, **own)(labels, scores), plain, rtol=1e-12)


@pytest.mark.parametrize("largest", [1e-5, 1.0, 4.0, 300.0, 1e6])
def test_labels_of_any_size(largest):
    labels = np.float32([[0.0, 0.5, 1.0]]) * np.float32(largest)
    found = each_list(ks.ApproxNDCGLoss, labels, np.float32([[3.0, 2.0, 1.0]]), tau=0.01)
    # With gains 0, a and 1: in the best order 1 + a / log2(3).
    share = np.expm1(largest / 2 * np.log(2)) / np.expm1(largest * np.log(2)) if largest < 1e3 else 0.0
    third = 1 / np.log2(3)
    np.testing.assert_allclose(found, -(share * third + 0.5) / (1 + share * third), rtol=1e-5)
