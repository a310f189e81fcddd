"""float32 lists with outliers, and for SoftSort with clusters far apart: no score costs the others their digits."""

import numpy as np
import pytest
import tensorflow as tf
from support.gradients import tape_gradients
from support.oracles import projection as projection_oracles
from support.oracles import sorting as oracles

import keras_softsort as ks


def far_list(kind, size):
    scores = np.random.default_rng(size).normal(size=size)
    if kind == "clusters":
        scores[::2] += 1e5
    else:
        scores[size // 2] = float(kind)
    return scores.astype(np.float32)


KINDS = ["clusters", "1e5", "-1e6"]
OUTLIERS = KINDS[1:]
LISTS = [
    *(("neural_sort", size, kind, 0.3) for size in (20, 150) for kind in OUTLIERS),
    *(("soft_sort", size, "clusters", 30.0) for size in (63, 150)),
    *(("soft_sort", size, kind, 0.3) for size in (63, 150) for kind in KINDS),
    pytest.param("neural_sort", 2000, "clusters", 0.3, marks=pytest.mark.nightly),  # without the matrix
]


def _slices(method, scores, tau):
    """Matrix, values and ranks of one list, the weights of their gradients, and how near they must be."""

    def matrix(s, t):
        return getattr(ks, method)(s, t)

    def values(s, t):
        return ks.soft_values(s, t, method=method)

    def ranks(s, t):
        return ks.soft_rank(s, t, method=method)

    weights = np.random.default_rng(1).normal(size=(len(scores), len(scores))).astype(np.float32)
    without_matrix = [(values, weights[0], 1e-4), (ranks, weights[1], 5e-4)]
    return without_matrix if len(scores) > 1000 else [(matrix, weights, 1e-4), *without_matrix]


@pytest.mark.parametrize(("method", "size", "kind", "tau"), LISTS)
def test_values_and_gradients_keep_four_digits(method, size, kind, tau):
    scores = far_list(kind, size)
    for function, weights, nearness in _slices(method, scores, tau):
        found, gradients = tape_gradients(function, [tf.constant(scores), tf.constant(tau)], weights)
        wide = [tf.constant(scores, tf.float64), tf.constant(np.float32(tau), tf.float64)]
        expected, truths = tape_gradients(function, wide, weights)
        # A rank of 100 and a value of 1e5 keep four digits, too.
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=nearness)
        # The temperature's gradient is a sum over all items of either sign.
        for gradient, truth, atol in zip(gradients, truths, [1e-4, 5e-4], strict=True):
            np.testing.assert_allclose(gradient, truth, atol=atol * max(1, np.abs(truth).max()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [20, 150])
def test_float64_is_the_formula(kind, size):
    scores = far_list(kind, size)
    for method in ("neural_sort", "soft_sort"):
        found = getattr(ks, method)(tf.constant(scores, tf.float64), 0.3)
        np.testing.assert_allclose(found, getattr(oracles, method)(scores, 0.3), atol=1e-7)


@pytest.mark.parametrize("kind", OUTLIERS)
def test_unknown_size(kind):
    scores = far_list(kind, 63)
    run = tf.function(lambda s: ks.neural_sort(s, 0.3), input_signature=[tf.TensorSpec([None])])
    expected = oracles.neural_sort(scores, np.float64(np.float32(0.3)))
    np.testing.assert_allclose(run(tf.constant(scores)), expected, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_lapsum_ranks(kind):
    scores = far_list(kind, 33)
    expected = projection_oracles.lapsum_rank(scores.astype(np.float64), np.float64(np.float32(0.3)))
    np.testing.assert_allclose(ks.soft_rank(tf.constant(scores), 0.3, method="lapsum"), expected, atol=1e-5)


@pytest.mark.parametrize("size", [20, 150])
def test_gradient_of_values_far_from_zero(size):
    """The sorted values of scores with an offset, whose products with the gradient would be rounded."""
    scores = (1e4 + np.random.default_rng(0).normal(size=size)).astype(np.float32)
    weights = np.random.default_rng(1).normal(size=size).astype(np.float32)
    found, truth = (
        tape_gradients(lambda s: ks.soft_values(s, 0.01), [tf.constant(scores, dtype)], weights)[1][0]
        for dtype in ("float32", "float64")
    )
    np.testing.assert_allclose(found, truth, atol=1e-3 * np.abs(truth).max())
