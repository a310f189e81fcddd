"""Gumbel-softmax: values and gradients of its samples, the laws they follow, and the ends of every range."""

import functools
import math

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from scipy import stats
from support import modes
from support.gradients import check_gradients, fixed_weights, tape_gradients
from support.oracles import subsets as subset_oracles
from support.tolerances import TOLERANCES

from keras_softsort import ops
from keras_softsort.ops.core import gumbel_noise, tracing

LOGITS = np.random.default_rng(5).normal(size=(3, 5))
SEED = tf.constant([3, 5])
TAU = 0.6
# Samples per distribution: enough for chi-square to see a probability that is off by some 0.01.
DRAWS = 20_000
CHOICES = pytest.mark.parametrize("k", [1, 3])
# The published relaxation for k > 1; the threshold is in test_relaxations.py.
gumbel_softmax = functools.partial(ops.gumbel_softmax, method="successive_softmax")


def noise(shape, dtype=tf.float64):
    return gumbel_noise.gumbel(shape, SEED, dtype).numpy()


def keys(logits=LOGITS):
    return logits + noise(np.shape(logits))


def sample_and_gradients(logits, tau, **options):
    """A sample in the dtype of the logits, and the gradients of its weighted sum."""
    weights = fixed_weights(logits.shape)
    tensors = [tf.convert_to_tensor(logits), tf.constant(tau, logits.dtype)]
    value, gradients = tape_gradients(lambda x, t: gumbel_softmax(x, t, seed=SEED, **options), tensors, weights)
    return value.numpy(), *(gradient.numpy() for gradient in gradients)


@pytest.mark.parametrize("mode", modes.OP_MODES)
@CHOICES
def test_sample_is_the_relaxation_of_the_disturbed_logits_in_every_mode(k, mode):
    def run(logits, tau, _):
        return gumbel_softmax(logits, tau, seed=SEED, k=k)

    weights = fixed_weights(LOGITS.shape)
    tensors = [tf.constant(LOGITS), tf.constant(TAU, tf.float64)]
    value, (of_logits, of_tau) = modes.run(mode, run, tensors, weights)
    np.testing.assert_allclose(value, subset_oracles.relaxed_subset(keys(), TAU, k), rtol=1e-11)
    if k == 1:
        wanted, wanted_tau = subset_oracles.relaxed_choice_gradient(keys(), TAU, weights)
        np.testing.assert_allclose(of_logits, wanted, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(of_tau, wanted_tau, rtol=1e-9)
    else:
        _, expected, expected_tau = sample_and_gradients(*tensors, k=k)
        np.testing.assert_allclose(of_logits, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(of_tau, expected_tau, rtol=1e-9)


@pytest.mark.parametrize("mode", modes.OP_MODES)
def test_hard_sample_in_every_mode(mode):
    def run(logits, tau, mask):
        return gumbel_softmax(logits, tau, seed=SEED, k=2, hard=True, mask=mask)

    mask = np.array([[True, True, False, True, True]] * 3)
    tensors = [tf.constant(LOGITS), tf.constant(TAU, tf.float64)]
    value, found = modes.run(mode, run, tensors, fixed_weights(LOGITS.shape), mask)
    np.testing.assert_array_equal(value, subset_oracles.largest(np.where(mask, keys(), -np.inf), 2))
    _, *wanted = sample_and_gradients(*tensors, k=2, mask=mask)
    for gradient, truth in zip(found, wanted, strict=True):
        np.testing.assert_allclose(gradient, truth, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_gradients(k, masked):
    mask = np.array([[True, False, True, True, True], [True] * 5, [False, True, True, True, False]]) if masked else None
    check_gradients(lambda x, tau: gumbel_softmax(x, tau, seed=SEED, k=k, mask=mask), LOGITS, TAU)


def test_an_item_that_is_almost_sure():
    """In float32 the weight p of the item is 1, so log(1 - p) computed from p would be -inf."""
    logits = np.array([[20.0, 0.0, -1.0, 1.0]])
    wanted = subset_oracles.relaxed_subset(logits + noise(logits.shape, tf.float32), 0.9, 2)
    assert 1.01 < wanted[0, 0] < 1.9  # chosen once more, with a weight that depends on what was left
    np.testing.assert_allclose(gumbel_softmax(tf.constant(logits, tf.float32), 0.9, seed=SEED, k=2), wanted, rtol=1e-5)
    check_gradients(lambda x, tau: gumbel_softmax(x, tau, seed=SEED, k=2), logits, 0.9, rtol=1e-5)


def repeated(logits):
    return tf.constant(np.broadcast_to(logits, [DRAWS, len(logits)]))


def test_hard_samples_follow_the_softmax():
    logits = np.log([0.5, 0.3, 0.15, 0.05])
    counts = gumbel_softmax(repeated(logits), seed=SEED, hard=True).numpy().sum(axis=0)
    assert counts.sum() == DRAWS
    assert stats.chisquare(counts, DRAWS * np.exp(logits)).pvalue > 0.01


def test_hard_subsets_follow_plackett_luce():
    logits = np.array([1.0, 0.0, -0.5, 0.7])
    samples = gumbel_softmax(repeated(logits), seed=SEED, k=2, hard=True).numpy()
    np.testing.assert_array_equal(np.unique(samples), [0, 1])
    wanted = subset_oracles.subset_probabilities(logits, 2)
    assert sum(wanted.values()) == pytest.approx(1)
    found = {subset: np.sum(np.all(samples[:, list(subset)] == 1, axis=1)) for subset in wanted}
    assert sum(found.values()) == DRAWS
    assert stats.chisquare([*found.values()], [DRAWS * wanted[subset] for subset in found]).pvalue > 0.01


def test_soft_samples_have_the_law_of_tensorflow_probability():
    logits = np.array([0.5, -0.4, 0.1])
    ours = gumbel_softmax(repeated(logits), TAU, seed=SEED).numpy()
    theirs = tfp.distributions.RelaxedOneHotCategorical(TAU, logits).sample(DRAWS, seed=11).numpy()
    for item in range(3):
        assert stats.ks_2samp(ours[:, item], theirs[:, item]).pvalue > 0.01


@CHOICES
def test_cold_samples_are_the_hard_ones(k):
    hard = gumbel_softmax(LOGITS, TAU, seed=SEED, k=k, hard=True).numpy()
    np.testing.assert_array_equal(hard, subset_oracles.largest(keys(), k))
    np.testing.assert_allclose(gumbel_softmax(LOGITS, 1e-3, seed=SEED, k=k), hard, atol=1e-6)
    for dtype in (tf.float16, tf.bfloat16, tf.float32):
        exact = gumbel_softmax(tf.cast(LOGITS, dtype), seed=SEED, k=k, hard=True).numpy()
        np.testing.assert_array_equal(gumbel_softmax(tf.cast(LOGITS, dtype), 1e-20, seed=SEED, k=k), exact)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64], ids=lambda dtype: dtype.name)
@CHOICES
def test_dtypes(k, dtype):
    """The noise is float32's but for float64, and added to what the dtype made of the logits."""
    logits = tf.cast(LOGITS, dtype)
    wide = tf.float64 if dtype == tf.float64 else tf.float32
    found = gumbel_softmax(logits, TAU, seed=SEED, k=k)
    assert found.dtype == dtype
    wanted = subset_oracles.relaxed_subset(tf.cast(logits, tf.float64) + noise(LOGITS.shape, wide), TAU, k)
    np.testing.assert_allclose(tf.cast(found, tf.float64), wanted, **TOLERANCES[dtype]._asdict())


def test_every_argument_is_used():
    plain = gumbel_softmax(LOGITS, TAU, seed=SEED).numpy()
    mask = np.arange(5) < np.full((3, 1), 4)
    for more in ({"tau": 1.0}, {"seed": [3, 6]}, {"k": 2}, {"hard": True}, {"axis": 0}, {"mask": mask}):
        assert np.max(np.abs(gumbel_softmax(LOGITS, **{"tau": TAU, "seed": SEED, **more}).numpy() - plain)) > 1e-3


@pytest.mark.parametrize("mode", ["eager", "traced"])
def test_temperature_may_be_a_variable(mode):
    run = tf.function(gumbel_softmax) if mode == "traced" else gumbel_softmax
    found = run(LOGITS, tf.Variable(TAU, dtype=tf.float32), seed=SEED)
    np.testing.assert_allclose(found, subset_oracles.relaxed_subset(keys(), np.float32(TAU), 1), rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -2])
@pytest.mark.parametrize("hard", [False, True])
def test_axis_is_the_last_one_moved(axis, hard):
    logits = np.random.default_rng(1).normal(size=(2, 3, 4, 5))
    mask = np.random.default_rng(2).uniform(size=logits.shape) < 0.7
    options = {"seed": SEED, "k": 2, "hard": hard}
    found = gumbel_softmax(logits, TAU, axis=axis, mask=mask, **options)
    wanted = gumbel_softmax(np.moveaxis(logits, axis, -1), TAU, mask=np.moveaxis(mask, axis, -1), **options)
    np.testing.assert_allclose(found, np.moveaxis(wanted.numpy(), -1, axis), rtol=1e-12)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("k", [1, 2])
def test_masked_items_are_as_if_impossible(k, hard):
    """The result equals the formula on the valid items. Masked items may hold anything."""
    mask = np.array([[True, False, True, True, False], [True] * 5, [False, True, True, False, False]])
    options = {"k": k, "hard": hard}
    value, of_logits, of_tau = sample_and_gradients(tf.constant(LOGITS), TAU, mask=mask, **options)
    for row, kept in enumerate(mask):
        truth = subset_oracles.largest if hard else lambda x, k: subset_oracles.relaxed_subset(x, TAU, k)
        np.testing.assert_allclose(value[row, kept], truth(keys()[row, kept], k), rtol=1e-9)
    assert np.all(value[~mask] == 0)
    assert np.all(of_logits[~mask] == 0)
    assert np.any(of_logits[mask] != 0)
    for filler in (1e30, np.nan, np.inf, -np.inf):
        filled = tf.constant(np.where(mask, LOGITS, filler))
        for found, wanted in zip(
            sample_and_gradients(filled, TAU, mask=mask, **options), (value, of_logits, of_tau), strict=True
        ):
            np.testing.assert_array_equal(found, wanted)
    impossible = tf.constant(np.where(mask, LOGITS, -np.inf))
    for found, wanted in zip(sample_and_gradients(impossible, TAU, **options), (value, of_logits, of_tau), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)  # two traces may add in another order


@pytest.mark.parametrize("hard", [False, True])
def test_fewer_items_than_k(hard):
    logits = tf.constant([[0.3, -math.inf, 2.0, 5.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [0.0] * 4])
    mask = np.array([[True, True, True, False], [False, True, False, False], [False] * 4, [True] * 4])
    value, of_logits, of_tau = sample_and_gradients(logits, TAU, k=3, hard=hard, mask=mask)
    np.testing.assert_array_equal(value[:3], [[1, 0, 1, 0], [0, 1, 0, 0], [0] * 4])
    np.testing.assert_array_equal(of_logits[:3], np.zeros([3, 4]))
    assert np.sum(value[3]) == pytest.approx(3)
    assert np.all(of_logits[3] != 0)
    assert np.isfinite(of_tau)


@CHOICES
def test_nothing_to_choose_from(k):
    logits = tf.constant([[-math.inf] * 4, [1.0, math.nan, math.inf, 0.0]])
    mask = np.array([[True] * 4, [False] * 4])
    for hard in (False, True):
        value, of_logits, of_tau = sample_and_gradients(logits, TAU, k=k, hard=hard, mask=mask)
        np.testing.assert_array_equal(value, np.zeros([2, 4]))
        np.testing.assert_array_equal(of_logits, np.zeros([2, 4]))
        assert of_tau == 0


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
@CHOICES
def test_what_is_no_number_stays_in_its_list(k, bad, hard):
    logits = np.array(LOGITS, np.float32)
    clean, of_clean, _ = sample_and_gradients(tf.constant(logits), TAU, k=k, hard=hard)
    logits[1, 2] = bad
    value, of_logits, _ = sample_and_gradients(tf.constant(logits), TAU, k=k, hard=hard)
    assert np.all(np.isnan(value[1]))
    np.testing.assert_array_equal(value[[0, 2]], clean[[0, 2]])
    np.testing.assert_array_equal(of_logits[[0, 2]], of_clean[[0, 2]])


@CHOICES
@pytest.mark.parametrize("tau", [0.0, -1.0, math.nan])
def test_a_temperature_tensor_that_is_not_positive_gives_nan(k, tau):
    for hard in (False, True):
        assert np.all(np.isnan(gumbel_softmax(LOGITS, tf.constant(tau), seed=SEED, k=k, hard=hard)))


@CHOICES
@pytest.mark.parametrize("tau", [2e-38, 1e-20, 1e-3, 1.0, 1e30])
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e6, 1e37])
def test_finite_at_the_ends_of_every_range(scale, tau, k):
    found = extremes(tf.constant(scale), tf.constant(tau), k)
    for part in found:
        assert np.all(np.isfinite(part))
    np.testing.assert_allclose(np.sum(found[0], axis=-1), k, rtol=1e-5)


def extremes(scale, tau, k):
    logits = scale * tf.constant(LOGITS, tf.float32)
    weights = tf.constant(fixed_weights(LOGITS.shape), tf.float32)
    value, gradients = tape_gradients(lambda x, t: gumbel_softmax(x, t, seed=SEED, k=k), [logits, tau], weights)
    return value, *gradients


def test_ties_are_shared_evenly(monkeypatch):
    """Ties of keys, which noise all but rules out."""
    monkeypatch.setattr(gumbel_noise, "gumbel", lambda shape, seed, dtype: tf.zeros(shape, dtype))
    with tracing.eager_calls_traced(False):  # a trace of an earlier call has its own noise
        logits = tf.constant([[2.0, 2.0, 0.0, 2.0]])
        for tau in (1e-30, 1e-3, 0.5):
            value, of_logits, of_tau = sample_and_gradients(logits, tau, k=2)
            np.testing.assert_allclose(value[0, [0, 1, 3]], value[0, 0])
            assert np.all(np.isfinite(of_logits))
            assert np.isfinite(of_tau)
        hard, *gradients = sample_and_gradients(logits, 0.5, k=2, hard=True)
        np.testing.assert_array_equal(hard, [[1, 1, 0, 0]])
        for gradient, soft in zip(gradients, sample_and_gradients(logits, 0.5, k=2)[1:], strict=True):
            np.testing.assert_array_equal(gradient, soft)


@pytest.mark.parametrize("hard", [False, True])
def test_empty_and_single(hard):
    for shape in ([0], [2, 0], [0, 3]):
        assert gumbel_softmax(tf.zeros(shape), seed=SEED, hard=hard).shape == shape
    unknown = tf.function(
        lambda x: gumbel_softmax(x, seed=SEED, hard=hard), input_signature=[tf.TensorSpec([None, None])]
    )
    assert unknown(tf.zeros([2, 0])).shape == [2, 0]
    assert gumbel_softmax(tf.zeros([0, 3]), seed=SEED, k=2, hard=hard).shape == [0, 3]
    np.testing.assert_array_equal(
        gumbel_softmax(tf.constant([[-4.0], [1e30]]), 1e-30, seed=SEED, hard=hard), [[1], [1]]
    )
    np.testing.assert_allclose(gumbel_softmax(tf.zeros([2, 3]), seed=SEED, k=3, hard=True), np.ones([2, 3]))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"logits": 1.0}, ValueError, r"logits must have shape \[\.\.\., n\], got a scalar"),
        (
            {"tau": tf.ones([2])},
            ValueError,
            r"tau must be a scalar or have the shape of the leading axes, \(3,\), got shape \(2,\)",
        ),
        (
            {"seed": None},
            TypeError,
            r"seed must hold two integers unless noise_scale is 0, got None with noise_scale=1\.0",
        ),
        (
            {"seed": None, "noise_scale": tf.constant(0.0)},
            TypeError,
            "seed must hold two integers unless noise_scale is 0",
        ),
        ({"seed": [1]}, ValueError, r"seed must hold two integers, shape \[2\], got shape \(1,\)"),
        ({"k": 6}, ValueError, "k must be at most the list size, 5, got 6"),
        ({"k": 4, "axis": 0}, ValueError, "k must be at most the list size, 3, got 4"),
        ({"axis": 2}, ValueError, r"axis must be an axis of the shape \(3, 5\), got 2"),
        ({"axis": -3}, ValueError, r"axis must be an axis of the shape \(3, 5\), got -3"),
        ({"axis": None}, TypeError, "axis must be an integer, got None"),
        ({"mask": [True] * 5}, ValueError, r"mask must have the shape of logits, \(3, 5\), got \(5,\)"),
    ],
    ids=str,
)
def test_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        gumbel_softmax(**{"logits": LOGITS, "seed": SEED, **arguments})


def test_k_above_a_size_that_is_known_only_when_run():
    run = tf.function(lambda x: gumbel_softmax(x, seed=SEED, k=3), input_signature=[tf.TensorSpec([None, None])])
    assert run(tf.zeros([2, 3])).shape == [2, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="k must be at most the list size, got 3"):
        run(tf.zeros([2, 2]))


@pytest.mark.traced_eagerly
@pytest.mark.parametrize("tau", [1e-20, 0.5])
def test_infinity_makes_the_gradients_of_its_list_nan(tau):
    logits = tf.constant([[0.3, 1.0, 2.0], [1.0, math.inf, 0.0]])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        total = tf.reduce_sum(gumbel_softmax(logits, tau, seed=SEED) ** 2)
    gradient = tape.gradient(total, logits).numpy()
    assert np.isfinite(gradient[0]).all()
    assert np.isnan(gradient[1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("size", [6, 40_000], ids=["short", "long"])
def test_a_number_and_a_tensor_are_the_same_temperature(size):
    """A number needs no guard of the gradient, and softmaxes of few and of many numbers are computed in two ways."""
    logits = tf.constant(np.random.default_rng(0).normal(size=[2, size]), tf.float32)
    logits = tf.concat([logits, tf.fill([2, 1], -math.inf), [[0.5], [-math.inf]]], axis=1)
    logits = tf.concat([logits, tf.fill([1, size + 2], -math.inf)], axis=0)  # and a list without any item
    for tau in (0.5, 1.0):
        results = []
        for given in (tau, tf.constant(tau)):
            call = tf.function(lambda x, t=given: ops.gumbel_softmax(x, t, seed=[1, 2]), autograph=False)
            with tf.GradientTape() as tape:
                tape.watch(logits)
                sample = call(logits)
                total = tf.reduce_sum(sample**2)
            results.append((sample.numpy(), tape.gradient(total, logits).numpy()))
        for number, tensor in zip(*results, strict=True):
            np.testing.assert_allclose(number, tensor, rtol=2e-5, atol=1e-9)
            assert np.all(np.isfinite(number))
