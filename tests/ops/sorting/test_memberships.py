"""Memberships in the k largest by projection against quadratic and convex programs, and a number k per list."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from scipy.optimize import minimize
from support import modes
from support.cases.op_case import LONGER as SCORES
from support.cases.op_case import LONGER_MASK as MASK
from support.gradients import central_differences, fixed_weights, tape_gradients
from support.oracles import projection as truth

from keras_softsort import ops
from keras_softsort.ops.sorting import methods

PROJECTIONS = pytest.mark.parametrize("method", ["projection", "projection_kl"])
TAU = 0.9


def oracle(method, tau=TAU, k=2):
    return functools.partial(truth.projected_membership, tau=tau, k=k, entropic=method == "projection_kl")


def test_the_oracle_is_the_program():
    """By sequential quadratic programming, on the objective of each projection."""
    random = np.random.default_rng(0)
    for _ in range(10):
        x, k = random.normal(size=6), int(random.integers(1, 6))
        for entropic in (False, True):

            def objective(p, x=x, entropic=entropic):
                return np.sum(p * np.log(p) - p - p * x) if entropic else np.sum((p - x) ** 2) / 2

            found = minimize(
                objective,
                np.full(6, k / 6),
                bounds=[(1e-12, 1)] * 6,
                constraints={"type": "eq", "fun": lambda p, k=k: p.sum() - k},
                options={"ftol": 1e-14, "maxiter": 500},
            )
            np.testing.assert_allclose(found.x, truth.projected_membership(x, 1.0, k, entropic), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "mode"), [*modes.of_first(["projection"]), *modes.of_first(["projection_kl"])], ids=str
)
def test_values_and_gradients_in_every_mode(method, mode):
    weights, tensors = fixed_weights(SCORES.shape), [tf.constant(SCORES), tf.constant(TAU, tf.float64)]
    value, gradients = modes.run(
        mode, lambda s, t, mask: ops.soft_top_k_membership(s, 2, t, method=method, mask=mask), tensors, weights, MASK
    )

    def wanted(scores, tau):
        return truth.each_list(oracle(method, float(tau)), scores, MASK)

    np.testing.assert_allclose(value, wanted(SCORES, TAU), rtol=1e-10, atol=1e-12)
    for found, right in zip(gradients, central_differences(wanted, [SCORES, TAU], weights), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-8)


@PROJECTIONS
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e6])
def test_many_lists_of_all_sizes(method, scale):
    random = np.random.default_rng(1)
    for n in (1, 2, 7, 40):
        scores = np.round(scale * random.normal(size=(20, n)), 2)  # with ties
        counts = random.integers(1, n + 1, 20)
        found = ops.soft_top_k_membership(tf.constant(scores), counts, 1.0, method=method).numpy()
        wanted = [oracle(method, 1.0, k)(x) for x, k in zip(scores, counts, strict=True)]
        np.testing.assert_allclose(found, wanted, atol=1e-11)
        np.testing.assert_allclose(found.sum(axis=1), counts, rtol=1e-12)


def test_items_far_from_the_threshold_are_exactly_0_or_1_without_gradient():
    scores = tf.constant([[5.0, 1.2, 1.0, 0.7, -3.0]])
    value, (gradient,) = tape_gradients(
        lambda s: ops.soft_top_k_membership(s, 2, method="projection"), [scores], fixed_weights((1, 5))
    )
    assert value[0, 0] == 1
    assert value[0, 4] == 0
    np.testing.assert_array_equal(gradient[0] == 0, [True, False, False, False, True])
    sharp = ops.soft_top_k_membership(scores, 2, 0.1, method="projection")
    np.testing.assert_array_equal(sharp, [[1, 1, 0, 0, 0]])


@PROJECTIONS
def test_far_clusters_keep_their_digits(method):
    scores = np.float32([[1e6, 1e6 + 1, 1e6 + 2, -1e6, -1e6 + 1]])
    found = ops.soft_top_k_membership(scores, 4, 2.0, method=method)
    np.testing.assert_allclose(found[0], oracle(method, 2.0, 4)(np.float64(scores[0])), atol=1e-6)


@PROJECTIONS
def test_fewer_valid_items_than_k_and_lists_that_are_no_numbers(method):
    scores = np.array([[1.0, 2, 3], [1.0, np.nan, 3], [0.5, 0.2, 0.1]])
    mask = np.array([[True, False, False], [True, True, True], [True, True, True]])
    value, (gradient,) = tape_gradients(
        lambda s: ops.soft_top_k_membership(s, 2, method=method, mask=mask), [tf.constant(scores)], np.ones([3, 3])
    )
    np.testing.assert_array_equal(value[0], [1, 0.5, 0.5])
    np.testing.assert_array_equal(gradient[0], [0, 0, 0])
    assert np.all(np.isnan(value[1]))
    assert np.all(np.isfinite(gradient[2]))


@pytest.mark.slow
@pytest.mark.parametrize("method", methods.names("membership"))
@pytest.mark.parametrize("hard", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_number_k_per_list(method, hard):
    scores, counts = tf.constant(np.random.default_rng(2).normal(size=(3, 2, 6))), [[1, 2], [3, 4], [5, 6]]
    weights = fixed_weights(scores.shape)
    options = {"tau": 0.5, "method": method, "hard": hard}
    found, (gradient,) = tape_gradients(
        lambda s: ops.soft_top_k_membership(s, tf.constant(counts), **options), [scores], weights
    )
    for index in np.ndindex(3, 2):
        k = counts[index[0]][index[1]]
        each, (right,) = tape_gradients(
            lambda s, k=k: ops.soft_top_k_membership(s, k, **options), [scores[index]], weights[index]
        )
        np.testing.assert_allclose(found[index], each, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(gradient[index], right, rtol=1e-9, atol=1e-12)
    same = ops.soft_top_k_membership(scores, tf.constant(2), **options)
    np.testing.assert_allclose(same, ops.soft_top_k_membership(scores, 2, **options), rtol=1e-12, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["soft_sort", pytest.param("neural_sort", marks=pytest.mark.nightly)])
def test_one_k_for_all_lists_of_any_size(method):
    """A scalar tensor k stands for every list, in a graph that chooses between short and long lists, too."""
    scores = tf.constant(np.random.default_rng(3).normal(size=(2, 300)))
    weights = fixed_weights(scores.shape)

    def outcome(k):
        return tape_gradients(lambda s: ops.soft_top_k_membership(s, k, 0.5, method=method), [scores], weights)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64)], autograph=False)
    def in_graph(scores):
        k = tf.constant(3)
        return tape_gradients(lambda s: ops.soft_top_k_membership(s, k, 0.5, method=method), [scores], weights)

    wanted, (slopes,) = outcome(3)
    for found, (gradient,) in (outcome(tf.constant(3)), in_graph(scores)):
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("k", "error", "message"),
    [
        ([1.0, 2.0], TypeError, "k must be an integer or hold integers, got dtype float32"),
        ([1, 2, 1], ValueError, r"k must be a scalar or have the shape of the leading axes, \(2,\), got \(3,\)"),
        ([1, 0], ValueError, "k must be at least 1, got 0"),
        ([1, 7], ValueError, "k must be at most the list size, 6, got 7"),
    ],
    ids=str,
)
def test_bad_numbers_per_list(k, error, message):
    with pytest.raises(error, match=message):
        ops.soft_top_k_membership(tf.constant(SCORES), k)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["soft_sort", "neural_sort", "lapsum", "projection", "projection_kl"])
@pytest.mark.parametrize("unknown", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_counts_as_tensors_are_those_as_integers(method, unknown):
    """Lists with fewer than k valid items, or with a score that is not finite, are no exception."""
    scores = tf.constant([[0.5, -1.0, 2.0, 1.0], [0.1, 0.2, 0.3, 0.4], [np.nan, 1.0, 2.0, 3.0], [0.0, 0.0, 0.0, 0.0]])
    mask = tf.constant([[True, True, False, False], [True] * 4, [True, True, False, False], [False] * 4])

    def memberships(k):
        return ops.soft_top_k_membership(scores, k, method=method, mask=mask)

    signature = [tf.TensorSpec([], tf.int32)]
    run = tf.function(memberships, input_signature=signature, autograph=False) if unknown else memberships
    for k in (1, 3, 4):
        np.testing.assert_allclose(run(tf.constant(k)), memberships(k), rtol=1e-6, atol=1e-7)
