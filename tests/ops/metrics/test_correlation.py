"""Rank correlations as operators, against SciPy."""

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats
from support import modes

from keras_softsort import ops

RANDOM = np.random.default_rng(3)
FIRST, SECOND = RANDOM.integers(0, 5, size=(2, 3, 7)), RANDOM.integers(-3, 3, size=(2, 3, 7))
MASK = RANDOM.uniform(size=FIRST.shape) < 0.8
TRUTHS = {"kendall_tau": stats.kendalltau, "spearman_correlation": stats.spearmanr}
each_name = pytest.mark.parametrize("name", TRUTHS)


def expected(name, first, second, mask):
    pairs = zip(first.reshape(-1, 7), second.reshape(-1, 7), mask.reshape(-1, 7), strict=True)
    found = [TRUTHS[name](one[kept], other[kept]).statistic for one, other, kept in pairs]
    return np.reshape(found, first.shape[:-1])


@each_name
@pytest.mark.parametrize("dtype", [int, np.float16, np.float32, np.float64])
def test_value_of_masked_and_tied_numbers(name, dtype):
    function = getattr(ops, name)
    first, second = FIRST.astype(dtype), SECOND.astype(dtype)
    found = function(first, second, mask=MASK)
    assert found.dtype == tf.float64
    np.testing.assert_allclose(found, expected(name, first, second, MASK), rtol=1e-12)
    np.testing.assert_allclose(function(first, second), expected(name, first, second, np.ones_like(MASK)), rtol=1e-12)


@pytest.mark.slow
@each_name
@pytest.mark.parametrize(
    "mode", ["unknown_shape", *(pytest.param(mode, marks=pytest.mark.nightly) for mode in ("traced", "xla"))]
)
def test_other_modes(name, mode):
    first, second = tf.constant(FIRST[0], tf.float64), tf.constant(SECOND[0], tf.float64)
    found, _ = modes.run(
        mode,
        lambda s, _: getattr(ops, name)(s, second, mask=MASK[0]) + 0 * tf.reduce_sum(s, axis=-1),
        [first],
        np.ones(3),
    )
    np.testing.assert_allclose(found, expected(name, FIRST[0], SECOND[0], MASK[0]), rtol=1e-12)


@each_name
def test_numbers_without_an_order(name):
    function = getattr(ops, name)
    np.testing.assert_array_equal(function([[1.0, 1.0, 1.0], [1.0, np.nan, 2.0]], [[1, 2, 3], [1, 2, 3]]), [0, np.nan])
    assert float(function([1.0, 3.0, np.nan], [1, 2, 3], mask=[True, True, False])) == pytest.approx(1)
    assert float(function([-np.inf, 1.0, np.inf], [1, 2, 3])) == pytest.approx(1)
    np.testing.assert_array_equal(function(np.zeros([2, 0]), np.zeros([2, 0])), [0, 0])
    assert float(function([1.0], [2.0])) == 0


@each_name
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"second": [1.0, 2.0]}, ValueError, r"second must have the shape of first, \(3,\), got \(2,\)"),
        ({"mask": [True, False]}, ValueError, "mask must have the shape of first"),
    ],
)
def test_bad_arguments(name, arguments, error, message):
    with pytest.raises(error, match=message):
        getattr(ops, name)(**{"first": [1.0, 2.0, 3.0], "second": [1.0, 2.0, 3.0], **arguments})
