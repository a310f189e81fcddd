"""LapSum: soft ranks and exact-k memberships against sums over all pairs, in every mode and at every end."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from support import modes
from support.cases.op_case import LONGER as SCORES
from support.cases.op_case import LONGER_MASK as MASK
from support.cases.op_case import METHODS
from support.gradients import ATOL, RTOL, central_differences, check_gradients, fixed_weights, tape_gradients
from support.oracles import projection as truth

import keras_softsort as ks
from keras_softsort import ops
from keras_softsort.ops.sorting import _lapsum

TAU = 0.7


def ranks(scores, tau, mask=None, direction="DESCENDING"):
    return ops.soft_rank(scores, tau, method="lapsum", mask=mask, direction=direction)


def membership(scores, tau, mask=None, k=2):
    return ops.soft_top_k_membership(scores, k, tau, mask=mask)


OPS = {"ranks": (ranks, truth.lapsum_rank), "membership": (membership, functools.partial(truth.lapsum_membership, k=2))}
BOTH = pytest.mark.parametrize("op", OPS)


def run(op, scores, tau, mask=None, weights=None, *, dtype=tf.float64, **options):
    weights = fixed_weights(np.shape(scores)) if weights is None else weights
    mask = np.ones(np.shape(scores), bool) if mask is None else mask
    tensors = [tf.constant(scores, dtype), tf.constant(tau, dtype)]
    value, slopes = tape_gradients(lambda s, t: OPS[op][0](s, t, mask=mask, **options), tensors, weights)
    return value.numpy(), [slope.numpy() for slope in slopes]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("op", "mode"),
    [
        *((op, "op_by_op") for op in OPS),
        *(pytest.param(op, mode, marks=pytest.mark.nightly) for op in OPS for mode in modes.ALL),
    ],
)
def test_value_and_gradient(op, mode):
    function, oracle = OPS[op]
    weights, tensors = fixed_weights(SCORES.shape), [tf.constant(SCORES), tf.constant(TAU, tf.float64)]
    value, found = modes.run(mode, function, tensors, weights, MASK)

    def wanted(scores, tau):
        return truth.each_list(functools.partial(oracle, tau=float(tau)), scores, MASK)

    np.testing.assert_allclose(value, wanted(SCORES, TAU), rtol=1e-12, atol=1e-13)
    for gradient, slope in zip(found, central_differences(wanted, [SCORES, TAU], weights), strict=True):
        np.testing.assert_allclose(gradient, slope, rtol=RTOL, atol=ATOL)
    np.testing.assert_array_equal(found[0].numpy()[~MASK], 0)


@pytest.mark.slow
@pytest.mark.parametrize("op", ["ranks", pytest.param("membership", marks=pytest.mark.nightly)])
def test_second_derivatives_are_differences_of_gradients(op):
    weights, step = fixed_weights(SCORES.shape), fixed_weights(SCORES.shape, seed=8)

    def directional_derivative(scores, tau):
        call = functools.partial(OPS[op][0], mask=MASK)
        _, (of_scores, of_tau) = tape_gradients(call, [scores, tau], weights)
        return tf.stack([tf.reduce_sum(of_scores * step), of_tau])

    check_gradients(directional_derivative, SCORES, TAU, rtol=1e-5, atol=1e-6)


def test_ranks_at_ties_and_at_low_temperatures():
    scores = np.array([[0.1, 2.3, 0.1, -1.7, 2.3, 0.1, 0.7]])
    for tau in (1e-30, 1e-3, 0.9):
        found, (gradient, of_tau) = run("ranks", scores, tau, dtype=tf.float32)
        assert found[0, 0] == found[0, 2] == found[0, 5]
        assert found[0, 1] == found[0, 4]
        np.testing.assert_allclose(found.sum(), 28, rtol=1e-6)
        assert np.all(np.isfinite([*gradient[0], of_tau]))
        if tau < 0.1:
            np.testing.assert_allclose(found, [[5, 1.5, 5, 7, 1.5, 5, 3]], rtol=1e-6)


def test_gradient_of_a_list_of_ties():
    # The threshold stands on all of them at once.
    value, (gradient, _) = run("membership", np.full([1, 4], 3.0), TAU, weights=np.array([[1.0, 0, 0, 0]]))
    np.testing.assert_allclose(value, np.full([1, 4], 0.5))
    np.testing.assert_allclose(gradient, [[0.75 / 2 / TAU, *[-0.25 / 2 / TAU] * 3]])


@pytest.mark.parametrize("k", [1, 4])
def test_membership_counts_to_k_and_masked_items_take_what_is_left(k):
    for tau in (1e-30, 0.01, 1.0, 1e30):
        scores = np.array([[1.0, -2.0, 3.0, 0.5], [7.0, 7.0, 7.0, 7.0], [1e30, -1e30, 0.0, 1.0], [2.0] * 4])
        mask = np.array([[True] * 4, [True] * 4, [True, True, False, True], [False] * 4])
        value, (gradient, of_tau) = run("membership", scores, tau, mask, dtype=tf.float32, k=k)
        np.testing.assert_allclose(value.sum(axis=1), k, rtol=1e-6)
        assert np.all((value >= 0) & (value <= 1))
        assert np.all(np.isfinite(gradient))
        assert np.isfinite(of_tau)
        np.testing.assert_allclose(value[3], k / 4)
        np.testing.assert_allclose(value[2, 2], 1.0 if k == 4 else 0.0)
        if tau < 0.1:
            np.testing.assert_allclose(value[0], np.argsort(np.argsort(-scores[0])) < k, atol=1e-10)
            np.testing.assert_allclose(value[1], k / 4)


@pytest.mark.slow
def test_in_float16_far_from_zero_and_on_a_long_list():
    scores = (1000 + np.random.default_rng(5).normal(size=[1, 2000])).astype(np.float32)
    tau = np.float64(np.float32(0.1))
    np.testing.assert_allclose(
        run("ranks", scores, 0.1, dtype=tf.float32)[0][0], truth.lapsum_rank(np.float64(scores[0]), tau), atol=1e-3
    )
    found, _ = run("membership", scores, 0.1, dtype=tf.float32, k=4)
    np.testing.assert_allclose(found[0], truth.lapsum_membership(np.float64(scores[0]), tau, 4), atol=1e-6)
    half = ranks(tf.cast(SCORES, tf.float16), 0.5)
    assert half.dtype == tf.float16
    rounded = SCORES.astype(np.float16).astype(np.float64)
    np.testing.assert_allclose(half, [truth.lapsum_rank(x, 0.5) for x in rounded], rtol=2**-11)


@BOTH
def test_padding_changes_nothing_and_a_list_that_is_no_number_poisons_itself_alone(op):
    places, weights = [1, 2, 4, 5, 7, 8], fixed_weights([2, 9])
    padded, mask = np.full([2, 9], np.inf), np.zeros([2, 9], bool)
    padded[:, places], mask[:, places] = SCORES, True
    value, (gradient, of_tau) = run(op, SCORES, TAU, np.ones([2, 6], bool), weights[:, places])
    found, (slopes, slope) = run(op, padded, TAU, mask, weights)
    np.testing.assert_allclose(found[:, places], value, rtol=1e-12)
    np.testing.assert_array_equal(found[~mask], 0)
    np.testing.assert_allclose(slopes[:, places], gradient, rtol=1e-10, atol=1e-13)
    np.testing.assert_array_equal(slopes[~mask], 0)
    np.testing.assert_allclose(slope, of_tau, rtol=1e-10)

    padded[0, 1] = np.nan
    found, (slopes, _) = run(op, padded, TAU, mask, weights)
    assert np.all(np.isnan(found[0, places]))
    np.testing.assert_allclose(found[1, places], value[1], rtol=1e-12)
    np.testing.assert_allclose(slopes[1, places], gradient[1], rtol=1e-10, atol=1e-13)


def test_empty_lists_and_one_item():
    assert run("ranks", np.zeros([2, 0]), 1.0)[0].shape == (2, 0)
    np.testing.assert_array_equal(run("ranks", [[7.5]], 1.0)[0], [[1]])
    np.testing.assert_array_equal(run("membership", [[7.5]], 1.0, k=1)[0], [[1]])


@pytest.mark.parametrize("method", METHODS)
def test_membership_of_the_other_methods_sums_the_first_rows(method):
    found = ops.soft_top_k_membership(tf.constant(SCORES), 2, TAU, method=method, mask=MASK)
    weights = ops.soft_top_k(tf.constant(SCORES), 2, TAU, method=method, mask=MASK).weights
    np.testing.assert_allclose(found, tf.reduce_sum(weights, axis=1), rtol=1e-12)


def test_the_layer_is_the_operator():
    layer = ks.SoftTopKLayer(2, tau=TAU, method="lapsum", returns="membership")
    wanted = [truth.lapsum_membership(x, TAU, 2) for x in SCORES]
    np.testing.assert_allclose(layer(tf.constant(SCORES, tf.float32)), wanted, rtol=1e-5)


def test_errors():
    scores = tf.constant(SCORES)
    for call in (
        lambda: ops.soft_values(scores, method="lapsum"),
        lambda: ops.soft_top_k(scores, 2, method="lapsum"),
        lambda: ks.SoftTopKLayer(2, method="lapsum"),
        lambda: ks.SoftTopKLayer(2, method="lapsum", returns="weights"),
        lambda: ks.NeuralNDCGLoss(method="lapsum"),
    ):
        with pytest.raises(ValueError, match=r"method must be one of \[.*\], got 'lapsum'"):
            call()
    with pytest.raises(ValueError, match="k must be at most the list size, 6, got 7"):
        ops.soft_top_k_membership(scores, 7)
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        ops.soft_top_k_membership(scores, 0)


@BOTH
def test_short_lists_take_all_pairs_with_the_results_of_long_ones(op, monkeypatch):
    scores = np.concatenate([SCORES, [[2.0, 2.0, -1e3, 1e3, 2.0, 0.5], [0.1] * 6]])
    mask = np.concatenate([MASK, [[True] * 6, [True, True, False, True, True, True]]])
    value, slopes = run(op, scores, TAU, mask)
    monkeypatch.setattr(_lapsum, "MAX_SIZE_OF_PAIRS", 0)
    expected, expected_slopes = run(op, scores, TAU, mask)
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-13)
    for slope, expected_slope in zip(slopes, expected_slopes, strict=True):
        np.testing.assert_allclose(slope, expected_slope, rtol=1e-9, atol=1e-10)


@pytest.mark.slow
@BOTH
def test_short_lists_take_no_float64(op):
    def dtypes(size):
        function = tf.function(lambda s: OPS[op][0](s, TAU, mask=s > -1), autograph=False)
        graph = function.get_concrete_function(tf.TensorSpec([2, size], tf.float32)).graph
        return {output.dtype for each in graph.get_operations() for output in each.outputs}

    assert tf.float64 not in dtypes(_lapsum.MAX_SIZE_OF_PAIRS)
    assert tf.float64 in dtypes(_lapsum.MAX_SIZE_OF_PAIRS + 1)
