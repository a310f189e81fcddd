"""SpearmanLoss beside SciPy; NeuralSortCrossEntropyLoss beside PermutationCrossEntropyLoss."""

import numpy as np
import pytest
import tensorflow as tf
from support import models
from support.cases.op_case import METHODS

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

NONE = models.NO_REDUCTION


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("digits", [0, 5])
def test_cold_ranks_give_the_correlation_of_scipy(method, digits, rng):
    from scipy.stats import spearmanr

    labels = rng.integers(0, 4, size=(5, 8)).astype("float64")
    labels[1, [0, 5]] = -1
    scores = np.round(rng.normal(size=labels.shape), digits)  # with no digits, most are tied
    found = ks.SpearmanLoss(tau=1e-9, method=method, reduction=NONE)(labels, scores)
    wanted = [
        1 - spearmanr(own[own >= 0], score[own >= 0]).statistic for own, score in zip(labels, scores, strict=True)
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("labels", [[2.0, 2.0, 2.0], [-1.0, 1.0, -1.0], [2.0] * 1001])
def test_no_order_to_find(labels):
    scores = tf.linspace([0.0], [1.0], len(labels), axis=1)
    with tf.GradientTape() as tape:
        tape.watch(scores)
        value = ks.SpearmanLoss()([labels], scores)
    assert float(value) == 0
    np.testing.assert_array_equal(tape.gradient(value, scores), 0)


def test_scores_that_hardly_differ():
    labels = np.float64([[0, 1, 2, 3]])

    def loss(spread):
        return float(ks.SpearmanLoss()(labels, spread * labels))

    assert loss(0.0) == pytest.approx(1, abs=1e-12)
    assert loss(1e-9) < 1
    assert loss(1.0) < 0.02
    # Below the least spread the correlation falls in proportion.
    assert (1 - loss(1e-5)) / (1 - loss(1e-6)) == pytest.approx(10, rel=1e-3)


def ragged_lists():
    labels = np.float32([[3, 1, 2, 0, 4], [1, -1, 2, 0, 1], [-1, 0, -1, 1, 1], [0, 0, 0, 0, 0]])
    return labels, np.random.default_rng(3).normal(size=labels.shape).astype("float32")


def test_the_cross_entropy_of_the_matrix():
    labels, scores = (array[:3] for array in ragged_lists())
    weights = np.random.default_rng(5).uniform(size=labels.shape).astype("float32")
    matrix = ks.ops.neural_sort(scores, 0.7, mask=labels >= 0)
    wanted = ks.PermutationCrossEntropyLoss(reduction=NONE)(labels, matrix, weights)
    found = ks.NeuralSortCrossEntropyLoss(0.7, reduction=NONE)(labels, scores, weights)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    # A cold sort of the labels is their order.
    found = ks.NeuralSortCrossEntropyLoss(0.7, label_tau=1e-3, reduction=NONE)(labels, scores, weights)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_a_very_wrong_order_has_its_gradient():
    labels, scores = np.float32([[2, 1, 0]]), tf.constant([[0.0, 100.0, 200.0]])
    with tf.GradientTape() as tape:
        tape.watch(scores)
        value = ks.NeuralSortCrossEntropyLoss()(labels, scores)
    # Rows 0 and 2 have logits 2 s - B and -2 s - B, B = 300, 200, 300: 400 from their peaks, the middle row is right.
    assert float(value) == pytest.approx(800 / 3, rel=1e-6)
    np.testing.assert_allclose(tape.gradient(value, scores), [[-4 / 3, 0, 4 / 3]], atol=1e-6)
