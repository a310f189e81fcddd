"""Every loss of TF-Ranking 0.5.5 against ours: its recorded values and gradients, and live where it is installed."""

import json

import numpy as np
import pytest
import tensorflow as tf
from support.cases import tf_ranking as cases

import keras_softsort as ks

RECORDED = json.loads(cases.VALUES.read_text())


@pytest.mark.parametrize("case", cases.PARITY)
def test_values_and_gradients(case):
    for name in set(cases.WEIGHTS) - set(cases.PARITY[case].without):
        found = cases.PARITY[case].expected(name)
        for key, value in RECORDED[case][name].items():
            np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=2e-6, err_msg=f"{name}, {key}")


@pytest.mark.parametrize("case", cases.PARITY)
def test_the_record_is_that_of_tf_ranking(case, monkeypatch):
    tfr = pytest.importorskip("tensorflow_ranking")
    cases.use_our_noise(monkeypatch.setattr)
    for key, value in cases.PARITY[case].recorded(tfr, "items").items():
        np.testing.assert_allclose(RECORDED[case]["items"][key], value, rtol=1e-5, atol=1e-6, err_msg=key)


def test_every_key_of_tf_ranking_has_a_case():
    tfr = pytest.importorskip("tensorflow_ranking")
    assert set(tfr.keras.losses.RankingLossKey.all_keys()) <= {case.partition(",")[0] for case in cases.PARITY}


@pytest.mark.parametrize("case", ["pairwise_hinge_loss", "softmax_loss", "ordinal_loss", "mixture_em"])
def test_ragged_lists_are_padded_ones(case):
    parity = cases.PARITY[case]
    lengths = np.sum(parity.labels >= 0, axis=1)
    labels, scores = (tf.RaggedTensor.from_tensor(each, lengths) for each in (parity.labels, parity.scores))
    weights = cases.WEIGHTS["lists"]
    np.testing.assert_allclose(
        parity.ours(labels, scores, weights), parity.ours(parity.labels, parity.scores, weights), rtol=1e-6
    )


def test_the_scale_of_the_noise_of_neural_sort():
    """Without noise the stochastic loss is the other one; twice the noise is another loss."""
    labels, scores = tf.constant(cases.GRADED[:2]), tf.constant(cases.SCORES[:2])

    def of(**options):
        mask = labels >= 0
        return ks.ops.neural_sort_cross_entropy_loss(scores, labels, mask=mask, seed=cases.SEED, **options).numpy()

    np.testing.assert_allclose(of(stochastic=True, noise_scale=0.0), of(), rtol=1e-6)
    assert np.all(np.abs(of(stochastic=True, noise_scale=2.0) - of(stochastic=True)) > 1e-3)
