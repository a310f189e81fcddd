"""The NDCG losses beside NDCG itself, TF-Ranking and what their papers say of them."""

import numpy as np
import pytest
import tensorflow as tf
from support import objects

import keras_softsort as ks

NONE = objects.NO_REDUCTION
# What importing scikit-learn and TF-Ranking warns of is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


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


@pytest.mark.parametrize("largest", [1e-5, 1.0, 4.0, 300.0, 1e6])
def test_labels_of_any_size(largest):
    labels = np.float32([[0.0, 0.5, 1.0]]) * np.float32(largest)
    found = each_list(ks.ApproxNDCGLoss, labels, np.float32([[3.0, 2.0, 1.0]]), tau=0.01)
    # With gains 0, a and 1: in the best order 1 + a / log2(3).
    share = np.expm1(largest / 2 * np.log(2)) / np.expm1(largest * np.log(2)) if largest < 1e3 else 0.0
    third = 1 / np.log2(3)
    np.testing.assert_allclose(found, -(share * third + 0.5) / (1 + share * third), rtol=1e-5)


@pytest.mark.parametrize("tau", [0.1, 1.0])
def test_approx_ndcg_in_tf_ranking(tau):
    tfr = pytest.importorskip("tensorflow_ranking")
    labels, scores = map(np.float32, graded_lists())
    labels[2] = 0  # counts as a list that costs 0, there as here
    theirs = tfr.keras.losses.ApproxNDCGLoss(temperature=tau)
    ours = ks.ApproxNDCGLoss(tau=tau)
    weights = np.float32([[1.0], [2.0], [3.0], [0.5], [0.0], [1.0]])
    for weight in (None, weights):
        assert float(ours(labels, scores, weight)) == pytest.approx(float(theirs(labels, scores, weight)), rel=1e-5)
    gradients = []
    for loss in (ours, theirs):
        x = tf.constant(scores)
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(labels, x)
        gradients.append(tape.gradient(value, x))
    np.testing.assert_allclose(*gradients, rtol=1e-4, atol=1e-6)
