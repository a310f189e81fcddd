"""The cumulative logsumexp against NumPy: any range, empty sums, NaN, gradients."""

import numpy as np
import pytest
import tensorflow as tf
from support import modes
from support.gradients import central_differences, fixed_weights
from support.oracles import plackett_luce as oracles

from keras_softsort.ops.core.logsumexp import in_float64, is_excluded, suffix_sums
from keras_softsort.ops.core.temperature import excluded


def suffix_logsumexp(values):
    return suffix_sums(values).log()


suffix = tf.function(suffix_logsumexp)
suffix_unknown = tf.function(suffix_logsumexp, input_signature=[tf.TensorSpec([None, None], tf.float64)])


@pytest.mark.parametrize("spread", [1.0, 100.0, 5000.0])
@pytest.mark.parametrize("n", [0, 1, 2, 17, 100])
def test_suffix_logsumexp(n, spread):
    values = np.random.default_rng(n).uniform(-spread, spread, size=(3, n))
    values[:, ::3] -= spread / 2
    values[1, n // 2 :] = -np.inf
    wanted = np.maximum(oracles.suffix_logsumexp(values), np.finfo(float).min / 8)  # the value of an empty sum
    np.testing.assert_allclose(suffix(values), wanted, rtol=1e-12, atol=1e-13 * spread)
    np.testing.assert_allclose(suffix_unknown(values), wanted, rtol=1e-12, atol=1e-13 * spread)


def test_small_values_after_large_ones_keep_their_digits():
    """Relative to the largest of all, the last would be 0: only the range within its own suffix counts."""
    values = np.array([0.0, -700.0, -1400.0, -1e30, -1e30])
    np.testing.assert_allclose(suffix(values), values, rtol=1e-15)
    edge = np.array([0.0, -598.75, -598.5])
    np.testing.assert_allclose(suffix(edge)[1:], oracles.suffix_logsumexp(edge)[1:], rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [2.0, 400.0])
@pytest.mark.parametrize("mode", ["xla", "unknown_shape"])
def test_gradient(mode, spread):
    values = np.random.default_rng(3).normal(size=(2, 7))
    values[0, 3:] += spread * 2
    values[1, -1] -= spread * 2
    weights = fixed_weights(values.shape)
    value, (found,) = modes.run(mode, lambda v, _: suffix_logsumexp(v), [tf.constant(values)], weights)
    np.testing.assert_allclose(value, oracles.suffix_logsumexp(values), rtol=1e-12)
    (wanted,) = central_differences(oracles.suffix_logsumexp, [values], weights)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("wide", [0.0, -5000.0])
def test_nan_stays_in_its_list(wide):
    lists = np.random.default_rng(5).normal(size=(3, 6))
    lists[1, 2] = np.nan
    lists[2, 4] = wide
    found = suffix(lists).numpy()
    np.testing.assert_allclose(found[[0, 2]], oracles.suffix_logsumexp(lists[[0, 2]]), rtol=1e-12)
    assert np.all(np.isnan(found[1, :3]))


def test_float64_keeps_what_is_excluded():
    found = in_float64(tf.stack([excluded(tf.float32), -np.inf, -1e30, 2.5]))
    np.testing.assert_array_equal(found, [excluded(tf.float64), -np.inf, np.float64(np.float32(-1e30)), 2.5])
    np.testing.assert_array_equal(is_excluded(found), [True, True, False, False])
