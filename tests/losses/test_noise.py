"""Losses that draw noise: what a seed repeats, that each call draws anew, and that more samples vary less."""

import numpy as np
import pytest
import tensorflow as tf
from support import models

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

NONE = models.NO_REDUCTION
LOSSES = {
    "DkNN": lambda **options: ks.DkNNLoss(1, 1e-4, stochastic=True, **options),
    "NeuralNDCG": lambda **options: ks.NeuralNDCGLoss(1e-4, num_iterations=0, stochastic=True, **options),
    "NeuralSort's cross-entropy": lambda **options: ks.NeuralSortCrossEntropyLoss(stochastic=True, **options),
    "PLRank": ks.PLRankLoss,
    "GumbelApproxNDCG": ks.GumbelApproxNDCGLoss,
    "Yeti": ks.YetiLogisticLoss,
    "CoupledRankDistil": ks.CoupledRankDistilLoss,
}
each_loss = pytest.mark.parametrize("name", LOSSES)


def given(name, count):
    """Labels and predictions of lists or queries that are all equal, so that only noise tells them apart."""
    if name == "DkNN":
        return np.arange(count) % 2, tf.zeros([count, 1])
    return np.tile(np.float32([[2, 1, 0]]), [count, 1]), tf.constant([[0.0, 0.5, -0.5]] * count)


def two_calls(name, seed=3, start=1, traced=False):
    tf.random.set_seed(start)
    loss = LOSSES[name](num_samples=2, seed=seed, reduction=NONE)
    run = tf.function(loss.__call__, autograph=False) if traced else loss
    return np.stack([run(*given(name, 8)) for _ in range(2)])


@pytest.mark.slow
@each_loss
def test_a_seed_repeats_the_noise(name):
    first = two_calls(name)
    np.testing.assert_array_equal(two_calls(name), first)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(two_calls(name, seed=4), first)
    assert not np.array_equal(two_calls(name, start=2), first)
    assert len(np.unique(first[0])) > 1  # lists do not share their noise


@pytest.mark.slow
@each_loss
def test_a_trace_draws_the_noise_of_the_seed(name):
    np.testing.assert_allclose(two_calls(name, traced=True), two_calls(name), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["DkNN", "NeuralNDCG"])
def test_each_compiled_call_draws_anew(name):
    loss = tf.function(LOSSES[name](num_samples=2, reduction=NONE).__call__, jit_compile=True)
    assert len(np.unique([loss(*given(name, 8)) for _ in range(3)], axis=0)) == 3


@each_loss
def test_more_samples_vary_less(name):
    lists = given(name, 100 if name == "DkNN" else 300)  # where each query has all others as candidates
    one, many = (np.std(LOSSES[name](num_samples=count, seed=1, reduction=NONE)(*lists)) for count in (1, 16))
    assert one / many == pytest.approx(4, rel=0.3)
