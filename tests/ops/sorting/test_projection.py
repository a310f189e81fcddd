"""Projections onto the permutahedron as ranks and sorted scores: fast soft sort's numbers, its truth, its edges."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from support import modes
from support.cases.op_case import LONGER as SCORES
from support.cases.op_case import LONGER_MASK as MASK
from support.gradients import ATOL, RTOL, central_differences, check_gradients, fixed_weights, tape_gradients
from support.oracles import projection as truth

import keras_softsort as ks
from keras_softsort import ops
from keras_softsort.ops.sorting._permutahedron import isotonic

METHODS = {"projection": False, "projection_kl": True}
KINDS = {"ranks": (ops.soft_rank, truth.projected_rank), "values": (ops.soft_values, truth.projected_values)}
EVERY = pytest.mark.parametrize("method", METHODS)
BOTH = pytest.mark.parametrize("kind", KINDS)


def wanted(kind, method, scores, tau, mask=None, direction="DESCENDING"):  # noqa: PLR0917
    mask = np.ones(np.shape(scores), bool) if mask is None else mask
    oracle = functools.partial(KINDS[kind][1], tau=tau, entropic=METHODS[method], direction=direction)
    return truth.each_list(oracle, scores, mask, packed=kind == "values")


def run(  # noqa: PLR0917
    kind, method, scores, tau, mask=None, weights=None, *, direction="DESCENDING", dtype=tf.float64
):
    weights = fixed_weights(np.shape(scores)) if weights is None else weights
    mask = np.ones(np.shape(scores), bool) if mask is None else mask
    tensors = [tf.constant(scores, dtype), tf.constant(tau, dtype)]

    def call(scores, tau):
        return KINDS[kind][0](scores, tau, method=method, mask=mask, direction=direction)

    value, slopes = tape_gradients(call, tensors, weights)
    return value.numpy(), [slope.numpy() for slope in slopes]


# The first two of either kind from the README of google-research/fast-soft-sort, the others by a rewrite of its NumPy
# code (fast_soft_sort/numpy_ops.py at e87a4de): values, regularization_strength, regularization, direction, result.
X = [2.9, 0.1, 1.2, -0.8, 1.5]
PUBLISHED = {
    "ranks": [
        ([5.0, 1.0, 2.0], 2.0, "l2", "ASCENDING", [3.0, 1.25, 1.75]),
        ([2.0, 1.0, 5.0], 1.0, "l2", "ASCENDING", [2.0, 1.0, 3.0]),
        (X, 0.5, "l2", "DESCENDING", [1.0, 4.0, 2.8, 5.0, 2.2]),
        (X, 2.0, "l2", "ASCENDING", [3.96, 2.56, 3.11, 2.11, 3.26]),
        (X, 2.0, "kl", "ASCENDING", [5.0, 1.857136479193, 3.218887407153, 1.184162500537, 3.739813613117]),
        (X, 2.0, "kl", "DESCENDING", [1.120783146005, 4.0, 2.622236759241, 5.0, 2.256980094754]),
    ],
    "values": [
        ([5.0, 1.0, 2.0], 1.0, "l2", "ASCENDING", [5 / 3, 8 / 3, 11 / 3]),
        ([2.0, 1.0, 5.0], 0.1, "l2", "ASCENDING", [1.0, 2.0, 5.0]),
        (X, 2.0, "l2", "DESCENDING", [1.98, 1.48, 0.98, 0.48, -0.02]),
        (X, 2.0, "kl", "ASCENDING", [-0.463856357081, 0.036143642919, 0.536143642919, 1.036143642919, 1.536143642919]),
        (X, 2.0, "kl", "DESCENDING", [2.468191064212, 1.968191064212, 1.468191064212, 0.968191064212, 0.468191064212]),
    ],
}


@pytest.mark.slow
@BOTH
def test_the_numbers_of_fast_soft_sort(kind):
    for scores, strength, regularization, direction, published in PUBLISHED[kind]:
        method = "projection" if regularization == "l2" else "projection_kl"
        found, _ = run(kind, method, [scores], strength, direction=direction)
        np.testing.assert_allclose(found, [published], rtol=1e-11, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "method", "mode"),
    [
        *((kind, method, "op_by_op") for kind in KINDS for method in METHODS),
        ("ranks", "projection", "xla"),
        *(pytest.param("ranks", "projection", mode, marks=pytest.mark.nightly) for mode in ("eager", "unknown_shape")),
        pytest.param("values", "projection_kl", "unknown_shape", marks=pytest.mark.nightly),
        *(
            pytest.param(kind, method, mode, marks=pytest.mark.nightly)
            for kind, method in (("values", "projection"), ("ranks", "projection_kl"))
            for mode in ("eager", "unknown_shape")
        ),
        pytest.param("values", "projection_kl", "xla", marks=pytest.mark.nightly),
    ],
)
def test_value_and_gradient(kind, method, mode):
    op, tau, direction = KINDS[kind][0], 1.3, "ASCENDING"
    weights = fixed_weights(SCORES.shape)
    tensors = [tf.constant(SCORES), tf.constant(tau, tf.float64)]
    value, found = modes.run(
        mode, lambda s, t, m: op(s, t, method=method, mask=m, direction=direction), tensors, weights, MASK
    )

    def oracle(scores, tau):
        return wanted(kind, method, scores, float(tau), MASK, direction)

    np.testing.assert_allclose(value, oracle(SCORES, tau), rtol=1e-11, atol=1e-12)
    slopes = central_differences(oracle, [SCORES, tau], weights)
    assert np.max(np.abs(slopes[0])) > 0.1
    for gradient, slope in zip(found, slopes, strict=True):
        np.testing.assert_allclose(gradient, slope, rtol=RTOL, atol=ATOL)
    np.testing.assert_array_equal(found[0].numpy()[~MASK], 0)


@pytest.mark.slow
@pytest.mark.parametrize(  # the quadratic values are linear in the scores
    ("kind", "method"),
    [
        ("ranks", "projection_kl"),
        *(
            pytest.param(*each, marks=pytest.mark.nightly)  # what test_autodiff.py does too
            for each in (("ranks", "projection"), ("values", "projection_kl"))
        ),
    ],
)
def test_second_derivatives_are_differences_of_gradients(kind, method):
    weights, step = fixed_weights(SCORES.shape), fixed_weights(SCORES.shape, seed=8)

    def directional_derivative(scores, tau):
        call = functools.partial(KINDS[kind][0], method=method, mask=MASK)
        _, (of_scores, of_tau) = tape_gradients(call, [scores, tau], weights)
        return tf.stack([tf.reduce_sum(of_scores * step), of_tau])

    check_gradients(directional_derivative, SCORES, 1.3, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@EVERY
@BOTH
@pytest.mark.parametrize("tau", [*(pytest.param(tau, marks=pytest.mark.nightly) for tau in (1.0, 0.02)), 0.1])
def test_pooling_and_merging_find_the_same_blocks(kind, method, tau, monkeypatch):
    scores = np.random.default_rng(0).normal(size=(4, 200)) * (1 if kind == "ranks" else 100)
    found = []
    for rounds in (0, isotonic.ROUNDS, 1000):
        monkeypatch.setattr(isotonic, "ROUNDS", rounds)
        found.append(run(kind, method, scores, tau)[0])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@EVERY
def test_ranks_lie_in_the_permutahedron(method):
    scores = np.random.default_rng(1).normal(size=[3, 200])
    for tau in (0.003, 0.1, 3.0):
        found = np.sort(run("ranks", method, scores, tau, dtype=tf.float32)[0].astype(np.float64), axis=-1)
        # The k smallest ranks sum to 1 + ... + k at least, all of them to that exactly.
        sums, least = np.cumsum(found, axis=-1), np.cumsum(np.arange(1.0, 201))
        assert np.all(sums >= least - 1e-5 * least[-1])
        np.testing.assert_allclose(sums[:, -1], least[-1], rtol=1e-6)


@pytest.mark.slow
@EVERY
def test_from_hard_ranks_to_their_mean(method):
    hard = [2.0, 5.0, 3.0, 6.0, 1.0, 4.0]
    scores = -np.array([hard])
    np.testing.assert_array_equal(run("ranks", method, scores, 0.5, dtype=tf.float32)[0], [hard])
    np.testing.assert_array_equal(run("values", method, scores, 0.5, dtype=tf.float32)[0], np.sort(scores)[:, ::-1])
    np.testing.assert_allclose(run("ranks", method, scores, 1e30, dtype=tf.float32)[0], [[3.5] * 6], rtol=1e-6)
    mean = np.mean(scores) if method == "projection" else np.log(np.mean(np.exp(scores)))
    np.testing.assert_allclose(run("values", method, scores, 1e30, dtype=tf.float32)[0], [[mean] * 6], rtol=1e-6)


@EVERY
@pytest.mark.parametrize("scale", [1.0, 1e30])
def test_tied_scores_share_their_ranks(method, scale):
    scores = np.array([[0.5, 2.0, 0.5, -1.0, 2.0, 0.5]]) * scale
    ranks, _ = run("ranks", method, scores, 0.1, dtype=tf.float32)
    np.testing.assert_allclose(ranks, [[4, 1.5, 4, 6, 1.5, 4]], rtol=1e-6)
    assert ranks[0, 0] == ranks[0, 2] == ranks[0, 5]
    values, (gradient, _) = run("values", method, scores, 1e-36, weights=np.arange(6.0)[None], dtype=tf.float32)
    np.testing.assert_array_equal(values, np.sort(scores.astype(np.float32))[:, ::-1])
    np.testing.assert_allclose(gradient, [[3, 0.5, 3, 5, 0.5, 3]], rtol=1e-6)


@BOTH
@EVERY
def test_padding_changes_nothing_wherever_it_is_and_whatever_it_holds(kind, method):
    places, rng = [1, 2, 4, 5, 7, 8], np.random.default_rng(3)
    weights, padded_weights = fixed_weights(SCORES.shape), rng.normal(size=[2, 9])
    padded, mask = np.full([2, 9], np.nan), np.zeros([2, 9], bool)
    padded[:, places], mask[:, places] = SCORES, True
    kept = places if kind == "ranks" else list(range(6))
    padded_weights[:, kept] = weights
    value, (gradient, of_tau) = run(kind, method, SCORES, 1.3, np.ones([2, 6], bool), weights)
    found, (slopes, slope) = run(kind, method, padded, 1.3, mask, padded_weights)
    np.testing.assert_allclose(found[:, kept], value, rtol=1e-12)
    np.testing.assert_array_equal(np.delete(found, kept, axis=1), 0)
    np.testing.assert_allclose(slopes[:, places], gradient, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(slopes[~mask], 0)
    np.testing.assert_allclose(slope, of_tau, rtol=1e-10)


@pytest.mark.slow
@BOTH
@EVERY
def test_the_ends(kind, method):
    for tau in (1e-30, 1.0, 1e30):
        scores = np.array([[1.0, -2.0, 3.0, 0.5], [7.0, 7.0, 7.0, 7.0], [1e30, -1e30, 0.0, 1.0]])
        mask = np.array([[True] * 4, [False] * 4, [True, True, False, True]])
        value, (gradient, of_tau) = run(kind, method, scores, tau, mask, dtype=tf.float32)
        assert np.all(np.isfinite(value))
        assert np.all(np.isfinite(gradient))
        # The gradient of tau of values is beyond float32, because 1 / tau is 1e30 here.
        assert np.isfinite(of_tau) or (kind == "values" and tau < 1)
        np.testing.assert_array_equal(value[1], 0)
        np.testing.assert_array_equal(gradient[1], 0)
    assert run(kind, method, np.zeros([2, 0]), 1.0)[0].shape == (2, 0)
    one = run(kind, method, [[7.5]], 1.0)[0]
    np.testing.assert_array_equal(one, [[1.0 if kind == "ranks" else 7.5]])


def test_no_lists():
    for op, method in ((ops.soft_rank, "projection_kl"), (ops.soft_values, "projection")):
        assert op(tf.zeros([0, 3]), method=method).shape == (0, 3)


@BOTH
@EVERY
def test_a_list_that_is_no_number_poisons_itself_alone(kind, method):
    value, (gradient, _) = run(kind, method, SCORES, 1.3)
    scores = SCORES.copy()
    scores[0, 2] = np.inf
    found, (slopes, _) = run(kind, method, scores, 1.3)
    assert np.all(np.isnan(found[0]))
    np.testing.assert_array_equal(found[1], value[1])
    np.testing.assert_array_equal(slopes[1], gradient[1])


@pytest.mark.slow
@BOTH
def test_float32_keeps_its_digits_on_long_lists_and_far_from_zero(kind):
    scores = (1000 + np.random.default_rng(5).normal(size=[1, 2000])).astype(np.float32)
    for tau in (0.01, 1.0) if kind == "ranks" else (0.5, 100.0):
        found, _ = run(kind, "projection", scores, tau, dtype=tf.float32)
        rounded = np.float64(np.float32(tau))
        atol = 2e-3 if kind == "ranks" else 2e-4  # of 2,000, and of 1,000: one or two units in the last place
        np.testing.assert_allclose(found, wanted(kind, "projection", scores, rounded), rtol=0, atol=atol)


@BOTH
@EVERY
@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16], ids=lambda dtype: dtype.name)
def test_half_in_half_out_computed_in_float32(kind, method, dtype):
    scores = tf.cast(SCORES, dtype)
    found = KINDS[kind][0](scores, 0.75, method=method)
    assert found.dtype == dtype
    exact = wanted(kind, method, tf.cast(scores, tf.float64).numpy(), 0.75)
    np.testing.assert_array_equal(found, tf.cast(tf.cast(exact, tf.float32), dtype))


def test_spearman_loss_by_projection():
    labels = np.array([[3.0, 1.0, 2.0, 0.0, 4.0, 5.0]])
    for method in METHODS:
        found = ks.SpearmanLoss(2.0, method=method)(labels, tf.constant(SCORES[:1]))
        soft = wanted("ranks", method, SCORES[0], 2.0)
        np.testing.assert_allclose(found, 1 - np.corrcoef(soft, -labels[0])[0, 1], rtol=1e-6)


def test_no_projection_where_a_permutation_is_needed():
    scores = tf.constant(SCORES)
    for call in (
        lambda: ops.soft_top_k(scores, 2, method="projection"),
        lambda: ops.soft_quantile(scores, 0.5, method="projection"),
        lambda: ks.NeuralNDCGLoss(method="projection"),
        lambda: ks.SoftTopKLayer(2, method="projection"),
        lambda: ks.RelaxedPlackettLuce(scores, 1.0, method="projection"),
    ):
        with pytest.raises(ValueError, match=r"method must be one of \[.*\], got 'projection'"):
            call()
    with pytest.raises(ValueError, match="got 'projection_kl', which has no permutation"):
        ops.soft_values(scores, method="projection_kl", values=scores)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["projection", "projection_kl"])
def test_values_of_scores_in_deviations_have_the_scale_of_the_scores(method):
    # In the last list two scores are nearest to 0.
    scores = np.array([[0.3, 1.2, -0.7, 0.1, 2.0], [5.0, 3.0, 9.0, -1.0, 0.0], [3.0, -1.0, 1.0, -3.0, 5.0]])

    def values(scores, **options):
        return ops.soft_values(scores, 5.0, method=method, **options)

    wanted = values(scores, scale="std")
    deviations = np.std(scores, axis=1, keepdims=True)
    np.testing.assert_allclose(wanted, deviations * values(scores / deviations), rtol=1e-9)
    for factor in (1e-2, 1e2):
        np.testing.assert_allclose(values(factor * scores, scale="std"), factor * wanted, rtol=1e-9)
    ascending = values(scores, scale="std", direction="ASCENDING")
    np.testing.assert_allclose(ascending, -values(-scores, scale="std"), rtol=1e-9)
