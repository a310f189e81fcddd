"""Choices without noise: memberships by a threshold against a float64 oracle; temperatures per list; both methods."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.optimize import brentq
from scipy.special import expit
from support import autodiff, modes
from support.cases.sampling.gumbel_softmax import IN_EVERY_WAY
from support.gradients import central_differences, check_gradients, fixed_weights
from support.oracles import subsets as subset_oracles

from keras_softsort import ops
from keras_softsort.ops.core import gumbel_noise

LOGITS = np.random.default_rng(5).normal(size=(3, 6))
TAU = np.array([0.2, 1.0, 5.0])


def top_k(logits, k, tau=1.0, **options):
    return ops.gumbel_softmax(logits, tau, k=k, noise_scale=0, **options)


def memberships(keys, tau, k):
    """The sigmoid of each key's distance from the threshold that SciPy finds."""
    result = np.zeros(np.shape(keys))
    for index in np.ndindex(result.shape[:-1]):
        ratio = (keys[index] - np.sort(keys[index])[-k]) / np.broadcast_to(tau, result.shape[:-1])[index]
        root = brentq(lambda t, ratio=ratio: expit(ratio - t).sum() - k, ratio.min() - 50, 50, xtol=1e-14, rtol=1e-14)
        result[index] = expit(ratio - root)
    return result


@pytest.mark.parametrize(("tau", "mode"), modes.of_first([TAU[:, np.newaxis], np.array(0.7), TAU]), ids=str)
def test_value_and_gradients_in_every_mode(tau, mode):
    weights = fixed_weights(LOGITS.shape)

    def truth(logits, tau):
        return memberships(logits, tau if tau.ndim < 2 else tau[:, 0], 2)

    tensors = [tf.constant(LOGITS), tf.constant(tau)]
    value, gradients = modes.run(mode, lambda x, t, _: top_k(x, 2, t), tensors, weights)
    np.testing.assert_allclose(value, truth(LOGITS, tau), rtol=1e-9)
    for found, expected in zip(gradients, central_differences(truth, [LOGITS, tau], weights), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e6, 1e37])
@pytest.mark.parametrize("tau", [2e-38, 1e-3, 1.0, 1e30])
def test_in_the_unit_interval_summing_to_k_at_the_ends_of_every_range(k, scale, tau):
    logits = tf.constant(scale * np.random.default_rng(1).normal(size=(4, 9)), tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        value = top_k(logits, k, tf.constant(tau))
        total = tf.reduce_sum(value * tf.constant(fixed_weights([4, 9]), tf.float32))
    assert np.all((value >= 0) & (value <= 1))
    np.testing.assert_allclose(np.sum(value, axis=-1), k, rtol=1e-5)
    assert np.all(np.isfinite(tape.gradient(total, logits)))


def test_cold_memberships_are_the_hard_ones():
    hard = top_k(LOGITS, 3, hard=True).numpy()
    np.testing.assert_array_equal(hard, subset_oracles.largest(LOGITS, 3))
    np.testing.assert_allclose(top_k(LOGITS, 3, 1e-3), hard, atol=1e-6)


def test_masks_never_and_few_items():
    mask = np.array([[True] * 4 + [False] * 2, [True] * 2 + [False] * 4, [False] * 6])
    logits = np.where(mask, LOGITS, np.nan)
    found = top_k(logits, 2, 0.5, mask=mask).numpy()
    np.testing.assert_allclose(found[0, :4], memberships(LOGITS[:1, :4], 0.5, 2)[0], rtol=1e-9)
    np.testing.assert_array_equal(found[1:], mask[1:])
    assert np.all(found[~mask] == 0)
    np.testing.assert_allclose(top_k(np.where(mask, LOGITS, -np.inf), 2, 0.5), found)


def test_a_list_that_is_not_a_number_leaves_the_others():
    logits = LOGITS.copy()
    logits[1, 2] = np.nan
    found = top_k(logits, 2).numpy()
    assert np.all(np.isnan(found[1]))
    np.testing.assert_array_equal(found[[0, 2]], top_k(LOGITS, 2).numpy()[[0, 2]])


def test_methods_and_axis():
    found = top_k(LOGITS, 2, 0.5, method="successive_softmax")
    np.testing.assert_allclose(found, subset_oracles.relaxed_subset(LOGITS, 0.5, 2), rtol=1e-9)
    for method in ("threshold", "successive_softmax"):
        one = top_k(LOGITS, 1, 0.5, method=method)
        np.testing.assert_allclose(one, subset_oracles.softmax(LOGITS / 0.5), rtol=1e-9)
    np.testing.assert_allclose(top_k(LOGITS.T, 2, TAU, axis=0), top_k(LOGITS, 2, TAU).numpy().T, rtol=1e-12)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("method", ["threshold", "successive_softmax"])
def test_samples_without_noise_and_with_half_of_it(k, method):
    options = {"k": k, "method": method, "seed": [3, 5]}
    np.testing.assert_array_equal(
        ops.gumbel_softmax(LOGITS, 0.5, noise_scale=tf.constant(0.0), **options), top_k(LOGITS, k, 0.5, method=method)
    )
    half = ops.gumbel_softmax(LOGITS, 0.5, noise_scale=0.5, **options)
    noise = gumbel_noise.gumbel(LOGITS.shape, tf.constant([3, 5]), tf.float64)
    np.testing.assert_allclose(half, top_k(LOGITS + 0.5 * noise, k, 0.5, method=method), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.traced_eagerly
@pytest.mark.parametrize(
    ("name", "way"),
    [case for name, (_, quick_ways) in IN_EVERY_WAY.items() for case in autodiff.cases([name], quick_ways)],
)
def test_right_in_every_way(name, way):
    autodiff.check(way, IN_EVERY_WAY[name][0], [LOGITS, np.array([0.6, 0.9, 1.3])])


@pytest.mark.slow
def test_many_rounds_are_a_loop():
    logits = np.random.default_rng(3).normal(size=(1, 12))
    found = top_k(logits, 10, 0.5, method="successive_softmax")
    np.testing.assert_allclose(found, subset_oracles.relaxed_subset(logits, 0.5, 10), rtol=1e-9)
    check_gradients(lambda x, tau: top_k(x, 10, tau, method="successive_softmax"), logits, 0.5)


@pytest.mark.parametrize("gap", [0.0, 1.0, 8.0, 20.0, 1e3, 1e30])
@pytest.mark.parametrize("k", [2, 500, 999])
def test_the_threshold_is_found_wherever_it_may_be(k, gap):
    """With k equal first keys and equal others, the threshold is as far from their middle as it can be."""
    keys = np.where(np.arange(1000) < k, 0.0, -gap)
    found = top_k(keys, k).numpy()
    np.testing.assert_allclose(np.sum(found), k, rtol=1e-12)
    first, last = np.float64(found[0]), np.float64(found[-1])
    np.testing.assert_allclose(k * (1 - first), (1000 - k) * last, rtol=1e-6, atol=1e-12)
    if gap <= 8:
        np.testing.assert_allclose(np.log(first / (1 - first)) - np.log(last / (1 - last)), gap, atol=1e-9)
