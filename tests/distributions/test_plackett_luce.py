"""Plackett-Luce: the log-probability of choices and orders, and samples, against choices made one after another."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats
from support import modes
from support.gradients import check_gradients, fixed_weights, tape_gradients
from support.oracles import plackett_luce as oracles
from support.tolerances import TOLERANCES
from tensorflow_probability import distributions as tfd

import keras_softsort as ks
from keras_softsort.ops.core import tracing

INF = np.inf
RNG = np.random.default_rng(5)
SCORES = RNG.normal(size=(2, 5))
MASK = np.array([[True, False, True, True, True], [True, True, False, True, False]])
SPECIAL = np.array([0.3, -INF, 1.2, -0.4, -INF])


def log_prob(scores, orders, **options):
    return ks.PlackettLuce(scores, **options).log_prob(orders)


@pytest.mark.parametrize("wide", [0.0, -5000.0])
def test_not_a_number_stays_in_its_list(wide):
    lists = RNG.normal(size=(3, 6))
    lists[1, 2] = np.nan
    lists[2, 4] = wide
    with tf.GradientTape() as tape:
        variable = tf.Variable(lists)
        value = log_prob(variable, np.arange(6))
    gradient = tape.gradient(value, variable).numpy()
    assert np.isnan(value[1])
    assert np.all(np.isfinite(gradient[[0, 2]]))
    for row in (0, 2):
        np.testing.assert_allclose(value[row], oracles.log_prob(lists[row], range(6)), rtol=1e-12)
        np.testing.assert_allclose(gradient[row], oracles.log_prob_gradient(lists[row], range(6)), atol=1e-12)


@pytest.mark.parametrize("top_k", [None, 1, 3, 5])
@pytest.mark.parametrize("mask", [None, MASK[0], MASK[1], np.zeros(5, bool)], ids=str)
@pytest.mark.parametrize("scores", [SCORES[0], SPECIAL, 1000 * SCORES[1]], ids=["plain", "impossible", "wide"])
def test_log_prob_of_every_order(scores, mask, top_k):
    orders = np.array(list(itertools.permutations(range(5), top_k)), np.int32)
    found = log_prob(scores, orders, top_k=top_k, mask=mask).numpy()
    kept = oracles.masked(scores, mask)
    np.testing.assert_allclose(found, [oracles.log_prob(kept, order) for order in orders], rtol=1e-10, atol=1e-12)
    as_drawn = set(oracles.outcomes(kept, top_k, mask))
    total = sum(np.exp(p) for p, order in zip(found, orders, strict=True) if tuple(order) in as_drawn)
    np.testing.assert_allclose(total, 1, rtol=1e-10)


def test_log_prob_is_that_of_tfp():
    scores = RNG.normal(size=(3, 6)).astype(np.float32)
    orders = np.stack([RNG.permutation(6) for _ in range(12)]).reshape(4, 3, 6).astype(np.int32)
    theirs = tfd.PlackettLuce(np.exp(scores))
    ours = ks.PlackettLuce(scores)
    np.testing.assert_allclose(ours.log_prob(orders), theirs.log_prob(orders), rtol=1e-5)
    np.testing.assert_allclose(ours.prob(orders), theirs.prob(orders), rtol=1e-4)
    np.testing.assert_array_equal(ours.mode(), theirs.mode())
    assert (ours.batch_shape, ours.event_shape) == (theirs.batch_shape, theirs.event_shape)


CHOICES = [(True, 3), (True, None), (False, 3), (False, None)]


@pytest.mark.slow
@pytest.mark.parametrize(("choice", "mode"), modes.of_first(CHOICES, quick=("xla",)), ids=str)
def test_log_prob_and_its_gradient_in_every_mode(choice, mode):
    masked, top_k = choice
    orders = np.array([[4, 2, 0, 3, 1], [1, 3, 0, 2, 4]], np.int32)[:, :top_k]
    weights, mask = fixed_weights([2]), MASK if masked else None

    def run(scores, mask):
        return ks.PlackettLuce(scores, top_k=top_k, mask=mask).log_prob(orders)

    value, (found,) = modes.run(mode, run, [tf.constant(SCORES)], weights, mask)
    for row in range(2):
        scores = oracles.masked(SCORES[row], mask[row] if masked else None)
        np.testing.assert_allclose(value[row], oracles.log_prob(scores, orders[row]), rtol=1e-12)
        wanted = weights[row] * oracles.log_prob_gradient(scores, orders[row])
        np.testing.assert_allclose(found[row], wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_log_prob_gradient_by_central_differences():
    orders = np.array([[4, 2, 0, 3, 1], [1, 3, 0, 2, 4]], np.int32)
    check_gradients(lambda s: ks.PlackettLuce(s).log_prob(orders), SCORES)
    check_gradients(lambda s: ks.PlackettLuce(s, top_k=2, mask=MASK).log_prob([[3, 0], [1, 0]]), SCORES)
    check_gradients(lambda s: ks.PlackettLuce(s).prob(orders), SCORES)
    wide = np.array([900.0, -900.0, 900.4, -900.3, 0.0])
    check_gradients(lambda s: ks.PlackettLuce(s).log_prob(orders), wide, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("order", [[3, 0, 2], [3, 0, 2, 4, 1]], ids=str)
def test_second_derivative(order):
    def gradient(scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            value = ks.PlackettLuce(scores, top_k=len(order)).log_prob(order)
        return tape.gradient(value, scores)

    check_gradients(gradient, SCORES[0])


@pytest.mark.parametrize("spread", [1.0, 700.0])
@pytest.mark.parametrize("count", [5, 2])
def test_log_prob_of_the_form_for_an_accelerator(count, spread):
    orders = np.array([[4, 2, 0, 3, 1], [1, 1, 0, 2, 4], [1, 3, 0, 2, 4]], np.int32)[:, :count]
    scores = np.stack([spread * SCORES[0], SCORES[0], SPECIAL])
    with tracing.lowering_for("tpu"):
        value, (found,) = tape_gradients(
            lambda each: log_prob(each, orders, top_k=count), [tf.constant(scores)], fixed_weights(3)
        )
    expected = log_prob(scores, orders, top_k=count)
    np.testing.assert_allclose(value, expected, rtol=1e-11)
    np.testing.assert_allclose(value[0], oracles.log_prob(scores[0], orders[0]), rtol=1e-11)
    wanted = fixed_weights(3)[0] * oracles.log_prob_gradient(scores[0], orders[0])
    np.testing.assert_allclose(found[0], wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_log_prob_broadcasts_as_tfp_does():
    scores = RNG.normal(size=(3, 1, 4))
    orders = np.stack([RNG.permutation(4) for _ in range(10)]).reshape(5, 1, 2, 4).astype(np.int32)
    found = ks.PlackettLuce(scores).log_prob(orders)
    assert found.shape == (5, 3, 2)
    for i, j, k in np.ndindex(5, 3, 2):
        np.testing.assert_allclose(found[i, j, k], oracles.log_prob(scores[j, 0], orders[i, 0, k]), rtol=1e-12)

    @tf.function(input_signature=[tf.TensorSpec([None] * 3, tf.float64), tf.TensorSpec([None] * 4, tf.int32)])
    def unknown(scores, orders):
        return ks.PlackettLuce(scores, top_k=3).log_prob(orders)

    wanted = ks.PlackettLuce(scores, top_k=3).log_prob(orders[..., :3])
    np.testing.assert_allclose(unknown(scores, orders[..., :3]), wanted, rtol=1e-12)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=lambda dtype: dtype.name)
def test_dtypes(dtype):
    scores = tf.cast(3 * SCORES, dtype)
    exact = tf.cast(scores, tf.float64).numpy()
    race, order = ks.PlackettLuce(scores), np.array([4, 2, 0, 3, 1], np.int32)
    found = race.log_prob(order)
    assert (found.dtype, race.dtype, race.sample(seed=1).dtype) == (dtype, tf.int32, tf.int32)
    tolerance = TOLERANCES[dtype]
    np.testing.assert_allclose(
        tf.cast(found, tf.float64),
        [oracles.log_prob(row, order) for row in exact],
        rtol=tolerance.rtol,
        atol=tolerance.atol,
    )
    for name in ("entropy", "marginal_top_k"):
        assert getattr(race, name)().dtype == dtype


def value_and_gradient(scores, order):
    variable = tf.Variable(scores, dtype=tf.float32)
    with tf.GradientTape() as tape:
        value = ks.PlackettLuce(variable).log_prob(order)
    return value, tape.gradient(value, variable)


@pytest.mark.slow
@pytest.mark.parametrize("level", [1e4, -1e4, 1e9, -1e9])
def test_scores_of_any_level_and_range(level):
    for scores in ([level, 0.0, 1.0], [level, level, 0.0], [level, -level, level]):
        for order in itertools.permutations(range(3)):
            value, gradient = value_and_gradient(scores, order)
            np.testing.assert_allclose(value, oracles.log_prob(np.float32(scores), order), rtol=1e-6)
            np.testing.assert_allclose(gradient, oracles.log_prob_gradient(np.float64(scores), order), atol=1e-6)


def test_levels_too_far_apart_for_digits_are_finite():
    for order in itertools.permutations(range(3)):
        value, gradient = value_and_gradient([1e30, 0.0, 1e30], order)
        assert np.isfinite(value)
        assert np.all(np.isfinite(gradient))
    value, _ = value_and_gradient([1e30, 1e30, 1e30], [0, 1, 2])
    np.testing.assert_allclose(value, -np.log(6), rtol=1e-6)


def chi_square(samples, wanted):
    """The p-value of samples of outcomes with the wanted probabilities."""
    seen, counts = np.unique(samples, axis=0, return_counts=True)
    found = {tuple(order): count for order, count in zip(seen.tolist(), counts, strict=True)}
    assert set(found) <= set(wanted)
    observed = [found.get(order, 0) for order in wanted]
    return stats.chisquare(observed, len(samples) * np.array(list(wanted.values()))).pvalue


@pytest.mark.parametrize(
    ("scores", "top_k", "mask"),
    [
        ([0.5, -1.0, 0.0, 1.0], None, None),
        ([0.5, -1.0, 0.0, 1.0], 2, None),
        ([0.5, 9.0, -INF, -0.5, 0.0], None, [True, False, True, True, True]),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64], ids=lambda dtype: dtype.name)
def test_samples_have_the_probabilities_of_their_orders(scores, top_k, mask, dtype):
    race = ks.PlackettLuce(tf.constant(scores, dtype), top_k=top_k, mask=mask)
    wanted = oracles.probabilities(oracles.masked(scores, mask), top_k, mask)
    assert chi_square(race.sample(20_000, seed=3).numpy(), wanted) > 0.01


def test_samples_are_the_same_in_every_mode():
    race = ks.PlackettLuce(SCORES, top_k=3, mask=MASK)
    eager = race.sample([3, 2], seed=[1, 2]).numpy()
    assert eager.shape == (3, 2, 2, 3)
    compiled = tf.function(lambda: race.sample([3, 2], seed=[1, 2]), jit_compile=True)
    np.testing.assert_array_equal(compiled(), eager)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64), tf.TensorSpec([None, None], tf.bool)])
    def unknown(scores, mask):
        return ks.PlackettLuce(scores, top_k=3, mask=mask).sample([3, 2], seed=[1, 2])

    np.testing.assert_array_equal(unknown(SCORES, MASK), eager)


def test_seeds():
    race = ks.PlackettLuce(np.zeros(20))
    first, other = race.sample(5, seed=[1, 2]), race.sample(5, seed=[1, 3])
    np.testing.assert_array_equal(first, race.sample(5, seed=[1, 2]))
    assert np.any(first != other)
    assert np.any(race.sample(5) != race.sample(5))
    tf.random.set_seed(1)
    from_integer = race.sample(5, seed=3)
    tf.random.set_seed(1)
    np.testing.assert_array_equal(from_integer, race.sample(5, seed=3))
    assert len({tuple(order) for order in first.numpy()}) == 5
