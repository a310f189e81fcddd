"""The table of `docs/coming-from/keras-rs.md`: the losses of Keras-RS and ours have the values that it says."""

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks

keras_rs = pytest.importorskip("keras_rs")
pytestmark = pytest.mark.default_stack_only
LABELS = np.float32([[2, 0, 1, 1, -1], [0, 3, -1, -1, -1], [1, 0, 4, 2, 0]])
SCORES = np.float32([[0.3, -1.2, 0.8, 2.0, 9.0], [1.5, 0.2, 7.0, 7.0, 7.0], [-0.4, 0.9, 0.1, 0.0, 2.2]])
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 0, 1]], bool)
WEIGHTS = np.float32([[1.0, 2.0, 0.5, 3.0, 9.0], [0.7, 1.3, 9.0, 9.0, 9.0], [2.0, 1.0, 0.1, 9.0, 0.8]])
SUM = {"normalization": "none", "reduction": "sum"}
PAIRWISE = {
    "PairwiseLogisticLoss": (lambda t: ks.RankNetLoss(t, **SUM), 1),
    "PairwiseHingeLoss": (lambda t: ks.losses.PairwiseHingeLoss(t, **SUM), 1),
    "PairwiseSoftZeroOneLoss": (lambda t: ks.losses.PairwiseSoftZeroOneLoss(t, **SUM), 1),
    "PairwiseMeanSquaredError": (lambda t: ks.losses.PairwiseMSELoss(**SUM), 2),
}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("name", PAIRWISE)
def test_pairwise_losses(name, weights):
    make, factor = PAIRWISE[name]
    theirs = getattr(keras_rs.losses, name)(temperature=0.5, reduction="sum")
    expected = theirs({"labels": LABELS, "mask": MASK}, SCORES, sample_weight=weights)
    found = make(0.5)(np.where(MASK, LABELS, -1), tf.constant(SCORES), sample_weight=weights)
    np.testing.assert_allclose(factor * found, expected, rtol=1e-5)


def test_list_mle():
    expected = keras_rs.losses.ListMLELoss(temperature=0.5)({"labels": LABELS, "mask": MASK}, SCORES)
    found = ks.PlackettLuceLoss(ties="first")(np.where(MASK, LABELS, -1), tf.constant(SCORES / 0.5))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_default_reduction_counts_padding_there():
    expected = keras_rs.losses.PairwiseHingeLoss()(LABELS, SCORES)
    found = ks.losses.PairwiseHingeLoss(**SUM)(LABELS, tf.constant(SCORES))
    np.testing.assert_allclose(found / LABELS.size, expected, rtol=1e-5)
