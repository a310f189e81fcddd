"""Expectations over Plackett-Luce orders: marginals, entropy, divergence, and samples without replacement."""

import itertools
import math

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats
from support import modes
from support.gradients import check_gradients, fixed_weights, second_differences, slope
from support.oracles import plackett_luce as oracles
from tensorflow_probability import distributions as tfd

import keras_softsort as ks

INF = np.inf
RNG = np.random.default_rng(9)
SCORES = RNG.normal(size=(2, 5))
OTHERS = RNG.normal(size=(2, 5))
MASK = np.array([[True, False, True, True, True], [True, True, True, True, True]])
LISTS = {
    "plain": SCORES[0],
    "wide": 300 * SCORES[1],
    "far": np.array([0.0, 40.0, 80.0, -1e4, 1e30]),
    "tied": np.zeros(5),
    "impossible": np.array([0.3, -INF, 1.2, -0.4, -INF]),
    "one": np.array([-INF, -INF, 2.0, -INF, -INF]),
    "none": np.full(5, -INF),
}


def within(found, wanted, standard_error, factor=4):
    """Fail unless an estimate is within so many standard errors, where there is a chance to miss."""
    assert np.all(np.abs(found - wanted) <= factor * np.asarray(standard_error) + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("scores", LISTS.values(), ids=LISTS)
def test_expected_examination(scores):
    """The sum of the weights of the ranks times the differences of the marginal probabilities."""
    curve = np.array([1.0, 0.7, 0.2, 0.0])
    wanted = sum(
        (weight - after) * oracles.marginal_top_k(scores, k)
        for k, (weight, after) in enumerate(itertools.pairwise([*curve, 0.0]), start=1)
    )
    race = ks.PlackettLuce(scores)
    np.testing.assert_allclose(race.expected_examination(curve), wanted, atol=1e-12)
    np.testing.assert_allclose(race.expected_examination(np.ones(2)), race.marginal_top_k(2), atol=1e-12)
    compiled = tf.function(lambda: race.expected_examination(curve), jit_compile=True)
    np.testing.assert_allclose(compiled(), wanted, atol=1e-11)


def test_expected_examination_of_lists_with_masks_and_its_gradient():
    curve = np.array([1.0, 0.5])
    race = ks.PlackettLuce(SCORES, mask=MASK)
    singles = [
        ks.PlackettLuce(oracles.masked(*each)).expected_examination(curve) for each in zip(SCORES, MASK, strict=True)
    ]
    np.testing.assert_allclose(race.expected_examination(curve), singles, atol=1e-12)
    check_gradients(lambda s: ks.PlackettLuce(s, mask=MASK).expected_examination(curve), SCORES)
    assert np.isnan(ks.PlackettLuce([0.0, np.nan]).expected_examination([1.0])).all()
    half = ks.PlackettLuce(tf.constant(SCORES, tf.float16)).expected_examination(curve)
    assert half.dtype == tf.float16


@pytest.mark.slow
@pytest.mark.parametrize(("masked", "mode"), modes.of_first([True, False]))
def test_second_derivatives_of_marginals_are_differences_of_the_oracle(masked, mode):
    mask = MASK if masked else np.ones_like(MASK)
    weights, direction = fixed_weights(SCORES.shape), fixed_weights(SCORES.shape, seed=8)

    def truth(scores):
        return np.array([oracles.marginal_top_k(oracles.masked(*each), 2) for each in zip(scores, mask, strict=True)])

    derivative = slope(lambda each: ks.PlackettLuce(each, mask=mask).marginal_top_k(2), weights, direction)
    _, (found,) = modes.run(mode, derivative, [tf.constant(SCORES)], 1.0)
    wanted = second_differences(truth, SCORES, weights, direction)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=2e-6)
    assert np.max(np.abs(wanted)) > 0.01


@pytest.mark.parametrize("weights", [np.ones(6), np.ones([1, 2]), np.ones(0), 1.0])
def test_errors_of_expected_examination(weights):
    with pytest.raises(ValueError, match="rank_weights"):
        ks.PlackettLuce(SCORES).expected_examination(weights)


@pytest.mark.parametrize("k", [1, 2, 4, 5])
def test_marginals(k):
    scores = np.stack(list(LISTS.values()))
    wanted = [oracles.marginal_top_k(row, k) for row in scores]
    np.testing.assert_allclose(ks.PlackettLuce(scores).marginal_top_k(k), wanted, atol=1e-12)
    np.testing.assert_allclose(ks.PlackettLuce(scores, top_k=k).marginal_top_k(), wanted, atol=1e-12)
    half = ks.PlackettLuce(tf.constant(SCORES, tf.float16)).marginal_top_k(k)
    wanted = [oracles.marginal_top_k(row, k) for row in np.float64(np.float16(SCORES))]
    np.testing.assert_allclose(half, wanted, rtol=2**-10)


@pytest.mark.slow
def test_marginals_of_a_masked_list_traced_and_compiled():
    race = ks.PlackettLuce(SCORES, mask=MASK)
    wanted = [oracles.marginal_top_k(oracles.masked(*each), 2) for each in zip(SCORES, MASK, strict=True)]
    np.testing.assert_allclose(tf.function(lambda: race.marginal_top_k(2), jit_compile=True)(), wanted, rtol=1e-11)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64), tf.TensorSpec([None, None], tf.bool)])
    def unknown(scores, mask):
        return ks.PlackettLuce(scores, mask=mask).marginal_top_k(2), ks.PlackettLuce(scores, mask=mask).marginal_top_k()

    two, every = unknown(SCORES, MASK)
    np.testing.assert_allclose(two, wanted, rtol=1e-11)
    np.testing.assert_allclose(every, MASK, rtol=1e-11)


@pytest.mark.parametrize(("size", "k"), [(40, 20), (30, 29), (60, 4)])
def test_marginals_of_longer_lists(size, k):
    scores = np.stack([np.zeros(size), 3 * np.random.default_rng(size).normal(size=size)])
    equal, others = ks.PlackettLuce(scores).marginal_top_k(k).numpy()
    np.testing.assert_allclose(equal, k / size, rtol=1e-10)
    np.testing.assert_allclose(others.sum(), k, rtol=1e-11)


@pytest.mark.slow
def test_marginal_gradient():
    check_gradients(lambda s: ks.PlackettLuce(s, mask=MASK).marginal_top_k(2), SCORES)
    check_gradients(lambda s: ks.PlackettLuce(s).marginal_top_k(3), 20 * SCORES)
    scores = tf.Variable(np.stack(list(LISTS.values())))
    with tf.GradientTape() as tape:
        value = ks.PlackettLuce(scores).marginal_top_k(2)
    assert np.all(np.isfinite(tape.gradient(value, scores)))


def test_marginals_from_samples():
    scores = np.stack([SCORES[0], LISTS["impossible"]])
    wanted = np.stack([oracles.marginal_top_k(row, 2) for row in scores])
    for dtype in (tf.float64, tf.float16):
        race = ks.PlackettLuce(tf.constant(scores, dtype))
        found = race.marginal_top_k(2, num_samples=10_000, seed=[1, 1])
        assert found.dtype == dtype
        within(np.float64(found), wanted, np.sqrt(wanted * (1 - wanted) / 10_000) + (dtype == tf.float16) * 2**-11)
        np.testing.assert_array_equal(found, race.marginal_top_k(2, num_samples=10_000, seed=[1, 1]))
        assert np.any(found != race.marginal_top_k(2, num_samples=10_000, seed=[1, 2]))


@pytest.mark.slow
@pytest.mark.parametrize("top_k", [None, 1, 3])
def test_entropy(top_k):
    scores = np.stack(list(LISTS.values()))
    found = ks.PlackettLuce(scores, top_k=top_k).entropy()
    np.testing.assert_allclose(found, [oracles.entropy(row, top_k) for row in scores], rtol=1e-10, atol=1e-12)
    found = ks.PlackettLuce(SCORES, top_k=top_k, mask=MASK).entropy()
    wanted = [oracles.entropy(oracles.masked(*each), top_k) for each in zip(SCORES, MASK, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    check_gradients(lambda s: ks.PlackettLuce(s, top_k=top_k, mask=MASK).entropy(), SCORES)


@pytest.mark.slow
@pytest.mark.parametrize("top_k", [None, pytest.param(1, marks=pytest.mark.nightly), 3])
def test_kl_divergence(top_k):
    def divergence(p, q):
        return tfd.kl_divergence(ks.PlackettLuce(p, top_k=top_k, mask=MASK), ks.PlackettLuce(q, top_k=top_k, mask=MASK))

    lists = [[oracles.masked(*each) for each in zip(scores, MASK, strict=True)] for scores in (SCORES, OTHERS)]
    wanted = [oracles.kl_divergence(p, q, top_k) for p, q in zip(*lists, strict=True)]
    np.testing.assert_allclose(divergence(SCORES, OTHERS), wanted, rtol=1e-11)
    check_gradients(divergence, SCORES, OTHERS)
    np.testing.assert_allclose(divergence(SCORES, SCORES + 1), [0, 0], atol=1e-12)


def test_kl_divergence_where_an_order_is_impossible():
    few, all_items = ks.PlackettLuce([0.0, 1.0, -INF]), ks.PlackettLuce([0.0, 1.0, 2.0])
    assert all_items.kl_divergence(few) == INF
    found = few.kl_divergence(all_items)
    np.testing.assert_allclose(found, oracles.kl_divergence([0, 1, -INF], [0, 1, 2]), rtol=1e-6)
    scores = tf.Variable([0.0, 1.0, -INF])
    with tf.GradientTape() as tape:
        value = ks.PlackettLuce(scores).kl_divergence(all_items)
    assert np.all(np.isfinite(tape.gradient(value, scores)))


@pytest.mark.parametrize("n", [7, 8, 9])
def test_exact_to_eight_items_and_estimated_beyond(n):
    p, q = (np.random.default_rng(n).normal(size=(2, n)), np.random.default_rng(n + 1).normal(size=n))
    race, other = ks.PlackettLuce(p, top_k=4), ks.PlackettLuce(q, top_k=4)
    cases = [
        (race.entropy(), race.estimate_entropy(1000, seed=1), [oracles.entropy(row, 4) for row in p]),
        (
            race.kl_divergence(other),
            race.estimate_kl_divergence(other, 1000, seed=1),
            [oracles.kl_divergence(row, q, 4) for row in p],
        ),
    ]
    for found, estimate, wanted in cases:
        assert np.all(estimate.standard_error > 0.001)
        within(estimate.value, wanted, estimate.standard_error)
        assert np.any(np.abs(estimate.value - wanted) > 1e-6)
        if n > 8:
            within(found, wanted, estimate.standard_error)
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-11)
    np.testing.assert_array_equal(race.entropy(), race.entropy())


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32], ids=lambda dtype: dtype.name)
def test_sums_over_many_orders_in_half_precision(dtype):
    """TensorFlow adds up half-precision numbers one by one: 2,048 ones or more would sum to 2,048."""
    scores = tf.constant(np.random.default_rng(2).normal(size=(2, 8)), dtype)
    race, other = ks.PlackettLuce(scores, top_k=6), ks.PlackettLuce(tf.zeros([8], dtype), top_k=6)
    exact = tf.cast(scores, tf.float64).numpy()
    divergences = [oracles.kl_divergence(row, np.zeros(8), 6) for row in exact]
    rtol = {tf.float16: 2**-10, tf.bfloat16: 2**-7, tf.float32: 1e-5}[dtype]
    for found, estimated, wanted in (
        (race.entropy(), race.estimate_entropy(20_000, seed=1), [oracles.entropy(row, 6) for row in exact]),
        (race.kl_divergence(other), race.estimate_kl_divergence(other, 20_000, seed=1), divergences),
    ):
        assert found.dtype == estimated.value.dtype == estimated.standard_error.dtype == dtype
        exactly, value, error = (tf.cast(each, tf.float64).numpy() for each in (found, *estimated))
        np.testing.assert_allclose(exactly, wanted, rtol=rtol)
        within(value, wanted, error + rtol * np.array(wanted) / 4)
        assert np.all(error > 1e-3)


@pytest.mark.slow
def test_standard_error_and_gradient_of_estimates():
    """Over many seeds at once: a batch of the same list."""
    tiled, other = tf.constant(np.tile(SCORES[0], [20_000, 1])), ks.PlackettLuce(OTHERS[0])
    for name, arguments in (("estimate_entropy", ()), ("estimate_kl_divergence", (other,))):
        with tf.GradientTape() as tape:
            tape.watch(tiled)
            found = getattr(ks.PlackettLuce(tiled), name)(*arguments, num_samples=5, seed=2)
        gradients = tape.gradient(found.value, tiled).numpy()
        variance = np.var(found.value)
        np.testing.assert_allclose(np.mean(found.standard_error**2), variance, rtol=0.05)
        value = {"estimate_entropy": "entropy", "estimate_kl_divergence": "kl_divergence"}[name]
        scores = tf.Variable(SCORES[0])
        with tf.GradientTape() as tape:
            exact = getattr(ks.PlackettLuce(scores), value)(*arguments)
        within(np.mean(found.value), exact, np.sqrt(variance / 20_000))
        within(gradients.mean(axis=0), tape.gradient(exact, scores), gradients.std(axis=0) / np.sqrt(20_000))


def rows(array):
    return np.unique(array, axis=0)


@pytest.mark.slow
def test_all_orders_without_replacement():
    for scores, top_k in ((SCORES[0, :4], None), (SCORES[0], 2), (np.zeros(3), None), ([0.0, 1e4, -1e30, 2.0], 3)):
        race = ks.PlackettLuce(tf.constant(scores, tf.float64), top_k=top_k)
        count = math.perm(len(scores), top_k or len(scores))
        orders = race.sample_without_replacement(count, seed=1).numpy()
        np.testing.assert_array_equal(rows(orders), sorted(itertools.permutations(range(len(scores)), top_k)))
        fewer = race.sample_without_replacement(count // 2, seed=1).numpy()
        assert len(rows(fewer)) == count // 2
        with pytest.raises(ValueError, match=f"num_samples must be at most the number of orders, {count}"):
            race.sample_without_replacement(count + 1)


@pytest.mark.slow
def test_law_of_samples_without_replacement():
    """The first is distributed as a sample; the second as another, given that it is not the first."""
    scores = np.array([0.2, -0.7, 0.9])
    wanted = oracles.probabilities(scores)
    tiled = ks.PlackettLuce(np.tile(scores, [20_000, 1]))
    orders = tf.function(lambda: tiled.sample_without_replacement(2, seed=[0, 7]), jit_compile=True)().numpy()
    assert orders.dtype == np.int32
    pairs = list(zip(map(tuple, orders[0].tolist()), map(tuple, orders[1].tolist()), strict=True))
    first = [sum(pair[0] == order for pair in pairs) for order in wanted]
    assert stats.chisquare(first, 20_000 * np.array(list(wanted.values()))).pvalue > 0.01
    expected = {(a, b): wanted[a] * wanted[b] / (1 - wanted[a]) for a, b in itertools.permutations(wanted, 2)}
    found = [pairs.count(pair) for pair in expected]
    assert sum(found) == 20_000
    assert stats.chisquare(found, 20_000 * np.array(list(expected.values()))).pvalue > 0.01


@pytest.mark.slow
def test_samples_without_replacement_with_what_cannot_be_chosen():
    scores = np.array([[-INF, 1.0, 9.0, 0.0], [0.0, -INF, 1.0, 2.0]])
    mask = np.array([[True, True, False, True], [True] * 4])
    race = ks.PlackettLuce(scores, mask=mask)
    for seed in range(5):
        orders = race.sample_without_replacement(2, seed=[seed, 1]).numpy()
        np.testing.assert_array_equal(rows(orders[:, 0]), [[1, 3, 0, 2], [3, 1, 0, 2]])
        assert len(rows(orders[:, 1])) == 2
        np.testing.assert_array_equal(orders[:, 1, 3], [1, 1])
    many = race.sample_without_replacement(8, seed=1)
    np.testing.assert_array_equal(many.numpy()[6:, 1, 3] != 1, [True, True])
    for batch in range(2):
        assert len(rows(many[:, batch])) == 8

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64), tf.TensorSpec([None, None], tf.bool)])
    def unknown(scores, mask):
        return ks.PlackettLuce(scores, mask=mask).sample_without_replacement(8, seed=[1, 2])

    np.testing.assert_array_equal(unknown(scores, mask), race.sample_without_replacement(8, seed=[1, 2]))


def test_seeds_without_replacement():
    race = ks.PlackettLuce(np.zeros(30), top_k=4)
    first = race.sample_without_replacement(20, seed=[1, 2])
    np.testing.assert_array_equal(first, race.sample_without_replacement(20, seed=[1, 2]))
    assert np.any(first != race.sample_without_replacement(20, seed=[1, 3]))
    assert len(rows(first)) == 20


@pytest.mark.parametrize("top_k", [None, 3])
def test_kl_divergence_where_the_other_tells_apart_what_comes_last(top_k):
    few, many = [0.5, -INF, 1.0, -INF, -0.5], [0.1, 2.0, -1.0, 0.7, 0.0]
    mask = np.array([True, True, True, True, False])
    p, q = ks.PlackettLuce(few, top_k=top_k, mask=mask), ks.PlackettLuce(many, top_k=top_k)
    occurring = oracles.probabilities(oracles.masked(few, mask), top_k, mask)
    wanted = sum(chance * (np.log(chance) - oracles.log_prob(many, order)) for order, chance in occurring.items())
    np.testing.assert_allclose(p.kl_divergence(q), wanted, rtol=1e-5)
    found = p.estimate_kl_divergence(q, 2000, seed=[1, 2])
    assert abs(found.value - wanted) < 4 * found.standard_error
