"""Entropic projections over twelve orders of magnitude of scores and temperatures, and finite beyond."""

import numpy as np
import pytest
import tensorflow as tf
from support.gradients import tape_gradients
from support.oracles.projection import entropic_with_gradients

import keras_softsort as ks

OPERATORS = {"ranks": ks.soft_rank, "values": ks.soft_values}
SCALES = [1e-6, 1e-3, 1.0, 1e3, 1e6]


def _run(kind, method, dtype, traced=False):
    def call(scores, tau):
        return OPERATORS[kind](scores, tau, method=method)

    signature = [tf.TensorSpec([None, None], dtype), tf.TensorSpec([], dtype), tf.TensorSpec([None, None], dtype)]

    def run(scores, tau, weights):
        return tape_gradients(call, [tf.convert_to_tensor(each, dtype) for each in (scores, tau)], weights)

    return tf.function(run, input_signature=signature) if traced else run


def _lists(size):
    random = np.random.default_rng(size)
    scores = random.normal(size=(4, size))
    scores[1, ::2] += 100  # clusters
    scores[2] = np.sign(scores[2]) * np.exp(5 * random.normal(size=size))  # of all sizes
    scores[3] = np.arange(size) + 1e-3 * scores[3]  # about the spacing of ranks
    return scores


@pytest.mark.slow
@pytest.mark.parametrize("kind", OPERATORS)
def test_entropic_projections_are_pooled_right(kind):
    run = _run(kind, "projection_kl", tf.float64, traced=True)  # which is quicker for this many lists
    for size in (2, 9, 40):
        weights = np.random.default_rng(7).normal(size=(4, size))
        for scale in SCALES:
            scores = scale * _lists(size)
            for tau in SCALES:
                found, (d_scores, d_tau) = run(scores, tau, weights)
                truths = [entropic_with_gradients(kind, *each) for each in zip(scores, [tau] * 4, weights, strict=True)]
                value, slopes, of_tau = (np.array(each) for each in zip(*truths, strict=True))
                note = f"scale {scale}, tau {tau}, size {size}"
                size_of = max(1e-300, np.abs(slopes).max())
                np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-9, err_msg=note)
                np.testing.assert_allclose(d_scores / size_of, slopes / size_of, rtol=1e-6, atol=1e-8, err_msg=note)
                largest = max(np.abs(of_tau).max(), 1 / tau * 1e-6)
                np.testing.assert_allclose(d_tau / largest, of_tau.sum() / largest, atol=1e-6, err_msg=note)


def test_values_do_not_saturate():
    scores, tau = tf.constant([100000.46, -0.33], tf.float64), tf.constant(0.01, tf.float64)
    found, (_, d_tau) = tape_gradients(
        lambda s, t: ks.soft_values(s, t, method="projection_kl"), [scores, tau], np.array([0.0, 1.0])
    )
    np.testing.assert_allclose(found, [100000.46, 99900.46])
    np.testing.assert_allclose(d_tau, 1e4)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("method", ["projection", "projection_kl"])
@pytest.mark.parametrize("kind", OPERATORS)
def test_finite_beyond(kind, method, dtype):
    run = _run(kind, method, dtype)
    scores = np.array([[3.0, -1.0, 3.0, 0.5, 1e-3], [1.0, 1.0, 1.0, 1.0, 1.0]])
    weights = np.random.default_rng(7).normal(size=scores.shape)
    for scale in (1e-30, 1.0, 1e30):
        for tau in (1e-30, 1.0, 1e30):
            value, (d_scores, d_tau) = run((scale * scores).astype(dtype), tau, weights.astype(dtype))
            # The temperature's gradient of pooled values is about 1 / tau^2, which float32 does not hold.
            overflows = kind == "values" and dtype == "float32" and scale / tau > 1e50
            assert not np.isnan(d_tau) if overflows else np.isfinite(d_tau)
            for each in (value, d_scores):
                assert np.isfinite(each).all(), (scale, tau, each)


@pytest.mark.parametrize("method", ["projection", "projection_kl"])
@pytest.mark.parametrize("kind", OPERATORS)
def test_no_lists_and_empty_lists(kind, method):
    run = _run(kind, method, "float32")
    for shape in ((0, 4), (3, 0), (0, 0)):
        value, gradients = run(np.zeros(shape, np.float32), 1.0, np.zeros(shape, np.float32))
        assert value.shape == gradients[0].shape == shape
        assert np.isfinite(gradients[1])


def test_a_block_of_a_long_list_is_summed_exactly():
    scores = np.random.default_rng(0).normal(size=70_000).astype("float32")
    values = np.float64(ks.soft_values(scores, 1e9, method="projection"))
    np.testing.assert_allclose(values.mean(), np.float64(scores).mean(), atol=1e-6)
