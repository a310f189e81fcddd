"""SpearmanLoss beside SciPy."""

import numpy as np
import pytest
import tensorflow as tf
from support import objects

import keras_softsort as ks

NONE = objects.NO_REDUCTION


@pytest.mark.parametrize("method", ["neural_sort", "soft_sort"])
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
