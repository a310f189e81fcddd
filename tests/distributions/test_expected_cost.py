"""Gradients of expected costs: each unbiased estimator against the sum over all orders."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from support.gradients import central_differences
from support.oracles import plackett_luce as oracles
from tensorflow_probability import distributions as tfd

import keras_softsort as ks

INF = np.inf
RNG = np.random.default_rng(11)
TABLE = RNG.normal(size=(5, 5))
OFFSET = 8.0
CASES = {
    "four": ([0.3, -0.8, 1.1, 0.0], None, None),
    "five": ([0.3, -0.8, 1.1, 0.0, -0.2], None, None),
    "top_k": ([0.3, -0.8, 1.1, 0.0, -0.2], 2, None),
    "masked": ([0.3, -INF, 1.1, 7.0, -0.2], None, [True, True, True, False, True]),
}
UNBIASED = [
    ("score_function", 3),
    ("rloo", 2),
    ("without_replacement", 1),
    ("without_replacement", 3),
    *(
        pytest.param(name, count, marks=pytest.mark.nightly)
        for name, count in [("score_function", 1), ("rloo", 4), ("without_replacement", 2), ("without_replacement", 4)]
    ),
]


def cost(orders):
    """The cost of orders `[..., k]`, in TensorFlow. It is a square, so that it is not a sum over places."""
    places = tf.one_hot(orders, 5, dtype=tf.float64) * TABLE[: orders.shape[-1]]
    return tf.reduce_sum(places, axis=[-2, -1]) ** 2 + OFFSET


def numpy_cost(order):
    return np.sum(TABLE[np.arange(len(order)), order]) ** 2 + OFFSET


@functools.cache
def estimates(name, estimator, count, batch=6000):
    """Independent estimates of one expectation `[batch]`, and of its gradient `[batch, n]`."""
    scores, top_k, mask = CASES[name]
    tiled = np.tile(scores, [batch, 1])
    mask = None if mask is None else np.tile(mask, [batch, 1])

    def run(tiled):
        with tf.GradientTape() as tape:
            tape.watch(tiled)
            race = ks.PlackettLuce(tiled, top_k=top_k, mask=mask)
            value = ks.expected_cost(race, cost, num_samples=count, estimator=estimator, seed=[5, 6])
        return value, tape.gradient(value, tiled)

    value, gradient = run(tf.constant(tiled))
    return value.numpy(), gradient.numpy()


def unbiased(samples, wanted):
    """Fail unless a mean over the first axis is within 4 standard errors, where there is a chance to miss."""
    error = samples.std(axis=0) / np.sqrt(len(samples))
    assert np.all(np.abs(samples.mean(axis=0) - wanted) <= 4 * error + 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("estimator", "count"), UNBIASED, ids=str)
def test_value_and_gradient_are_unbiased(name, estimator, count):
    scores, top_k, mask = CASES[name]
    value, gradient = oracles.expected(oracles.masked(scores, mask), numpy_cost, top_k, mask)
    values, gradients = estimates(name, estimator, count)
    unbiased(values, value)
    unbiased(gradients, gradient)
    never = ~np.isfinite(oracles.masked(scores, mask))
    np.testing.assert_array_equal(gradients[:, never], 0)
    assert np.all(gradients.std(axis=0)[~never] > 0.01)  # an estimate, not the exact value in disguise


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four", "five"])
def test_variances_are_in_the_published_order(name):
    """The mean cost is far from 0, where baselines matter."""
    without, rloo, score = (
        estimates(name, estimator, 4)[1].var(axis=0).sum()
        for estimator in ("without_replacement", "rloo", "score_function")
    )
    assert without < rloo < score / 3


@pytest.mark.parametrize(
    ("scores", "top_k", "count"),
    [
        ([0.3, -0.8, 1.1], None, 6),
        ([0.3, -0.8, 1.1], 1, 3),
        ([0.3, -30.0, 1.1], None, 6),
        ([0.3, -0.8, 1.1, -2.0], 2, 12),
        ([0.3, -INF, 1.1], None, 2),
        ([0.3, -INF, 1.1], None, 6),
        ([0.3, -INF, 1.1, -INF], None, 4),
        ([0.3, -INF, -INF, -INF], 3, 5),
        ([-INF, -INF, -INF], None, 4),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64], ids=lambda dtype: dtype.name)
def test_all_orders_give_the_exact_gradient(scores, top_k, count, dtype):
    scores = tf.constant(scores, dtype)
    value, gradient = oracles.expected(scores.numpy(), numpy_cost, top_k)
    for seed in (1, 2):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            race = ks.PlackettLuce(scores, top_k=top_k)
            found = ks.expected_cost(race, cost, num_samples=count, estimator="without_replacement", seed=seed)
        rtol = 1e-5 if dtype == tf.float32 else 1e-10
        np.testing.assert_allclose(found, value, rtol=rtol)
        np.testing.assert_allclose(tape.gradient(found, scores), gradient, rtol=rtol, atol=10 * rtol)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "count"), [(4, 2), (4, 20), (12, 2), (12, 40), (250, 4)])
def test_equal_costs_have_no_variance(size, count):
    """The weights add up to 1, given the first too, however many samples there are and improbable as they may be."""
    scores = tf.Variable(np.random.default_rng(size).normal(size=[3, size]))
    with tf.GradientTape() as tape:
        value = ks.expected_cost(
            ks.PlackettLuce(scores),
            lambda orders: tf.ones(orders.shape[:-1], tf.float64),
            num_samples=count,
            estimator="without_replacement",
            seed=1,
        )
    np.testing.assert_allclose(value, [1, 1, 1], rtol=1e-9)
    np.testing.assert_allclose(tape.gradient(value, scores), np.zeros([3, size]), atol=1e-8)


def test_wide_scores_stay_finite():
    for estimator in ("rloo", "score_function", "without_replacement"):
        scores = tf.Variable([[1e4, 0.0, -1e4, 3.0], [1e30, -1e30, 0.0, -INF], [0.0, 0.0, 500.0, 500.0]])
        with tf.GradientTape() as tape:
            value = ks.expected_cost(ks.PlackettLuce(scores), cost, num_samples=4, estimator=estimator, seed=1)
        assert np.all(np.isfinite(value))
        assert np.all(np.isfinite(tape.gradient(value, scores)))


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("estimator", ["score_function", "rloo", "without_replacement"])
def test_costs_of_any_dtype(estimator, dtype):
    """Each cost is 1, and half precision could not add up so many ones."""
    race = ks.PlackettLuce(np.zeros([2, 8]))
    found = ks.expected_cost(race, lambda z: tf.ones(z.shape[:-1], dtype), num_samples=2500, estimator="rloo", seed=1)
    assert found.dtype == (tf.float64 if dtype == tf.float64 else tf.float32)
    np.testing.assert_allclose(found, [1, 1], rtol=1e-6)
    found = ks.expected_cost(
        race, lambda z: tf.cast(z[..., 0], dtype), num_samples=20, estimator=estimator, seed=[1, 2]
    )
    wide = ks.expected_cost(
        race, lambda z: tf.cast(z[..., 0], tf.float64), num_samples=20, estimator=estimator, seed=[1, 2]
    )
    np.testing.assert_allclose(found, wide, rtol=1e-5)


@pytest.mark.parametrize(("estimator", "count"), [("score_function", 2), ("rloo", 2), ("without_replacement", 2)])
def test_what_the_cost_depends_on_gets_its_gradient(estimator, count):
    scores, factor = tf.constant(np.tile([0.3, -0.8, 1.1], [4000, 1])), tf.Variable(2.0, dtype=tf.float64)
    with tf.GradientTape() as tape:
        value = ks.expected_cost(
            ks.PlackettLuce(scores),
            lambda orders: factor**2 * cost(orders),
            num_samples=count,
            estimator=estimator,
            seed=3,
        )
    plain, _ = oracles.expected([0.3, -0.8, 1.1], numpy_cost)
    unbiased(value.numpy(), 4 * plain)
    # d/d factor of factor^2 c is 2 c / factor of the value, sample by sample.
    np.testing.assert_allclose(tape.gradient(value, factor), np.sum(value), rtol=1e-10)


def test_reparameterized_is_the_derivative_through_the_samples():
    scores, tau = np.array([0.3, -0.8, 1.1]), np.array(0.7)

    def mean_cost(scores, tau):
        race = ks.RelaxedPlackettLuce(scores, tau)
        return ks.expected_cost(
            race,
            lambda matrices: tf.reduce_sum(matrices * TABLE[:3, :3], axis=[-2, -1]) ** 2,
            num_samples=7,
            seed=[1, 2],
            estimator="reparameterized",
        )

    tensors = [tf.constant(scores), tf.constant(tau)]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        value = mean_cost(*tensors)
    samples = ks.RelaxedPlackettLuce(scores, tau).sample(7, seed=[1, 2]).numpy()
    np.testing.assert_allclose(value, np.mean(np.sum(samples * TABLE[:3, :3], axis=(1, 2)) ** 2), rtol=1e-12)
    wanted = central_differences(lambda *args: mean_cost(*map(tf.constant, args)).numpy(), [scores, tau], 1.0)
    for found, truth in zip(tape.gradient(value, tensors), wanted, strict=True):
        np.testing.assert_allclose(found, truth, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("estimator", ["score_function", "rloo"])
def test_other_distributions(estimator):
    logits = np.array([0.5, -1.0, 0.2])
    costs, p = np.array([5.0, 1.0, -2.0]), np.exp(logits) / np.exp(logits).sum()
    tiled = tf.constant(np.tile(logits, [10_000, 1]))
    with tf.GradientTape() as tape:
        tape.watch(tiled)
        value = ks.expected_cost(
            tfd.Categorical(tiled), lambda z: tf.gather(costs, z), num_samples=3, estimator=estimator, seed=1
        )
    unbiased(value.numpy(), p @ costs)
    unbiased(tape.gradient(value, tiled).numpy(), p * (costs - p @ costs))


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    ["rloo", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("without_replacement", "score_function"))],
)
def test_compiled_and_of_unknown_shape(estimator):
    scores = tf.constant(RNG.normal(size=(2, 3, 4)))

    def run(scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            race = ks.PlackettLuce(scores, top_k=3)
            value = ks.expected_cost(race, cost, num_samples=3, estimator=estimator, seed=[1, 2])
        return value, tape.gradient(value, scores)

    wanted = run(scores)
    assert wanted[0].shape == (2, 3)
    signature = [tf.TensorSpec([None, None, None], tf.float64)]
    for traced in (tf.function(run, jit_compile=True), tf.function(run, input_signature=signature)):
        for found, truth in zip(traced(scores), wanted, strict=True):
            np.testing.assert_allclose(found, truth, rtol=1e-9, atol=1e-12)


def test_seed_and_default():
    race = ks.PlackettLuce(np.zeros(5))
    first, again, other = (ks.expected_cost(race, cost, num_samples=3, seed=[1, s]).numpy() for s in (1, 1, 2))
    assert first == again != other
    with tf.GradientTape(persistent=True) as tape:
        scores = tf.Variable(np.zeros(5))
        race = ks.PlackettLuce(scores)
        value = ks.expected_cost(race, cost, num_samples=3, seed=[1, 1])
        named = ks.expected_cost(race, cost, num_samples=3, seed=[1, 1], estimator="rloo")
    np.testing.assert_array_equal(tape.gradient(value, scores), tape.gradient(named, scores))


RACE = ks.PlackettLuce([0.0, 1.0, 2.0])
SOFT = ks.RelaxedPlackettLuce([0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_samples": 1}, ValueError, "num_samples must be at least 2 with estimator 'rloo', got 1"),
        ({"estimator": "reparameterized"}, ValueError, "'reparameterized' does not fit PlackettLuce, which is not"),
        ({"distribution": SOFT}, ValueError, "'rloo' does not fit RelaxedPlackettLuce, which is reparameterized"),
        (
            {"distribution": tfd.Categorical([0.0, 1.0]), "estimator": "without_replacement"},
            ValueError,
            "needs a distribution with sample_without_replacement, such as PlackettLuce, got Categorical",
        ),
        (
            {"num_samples": 7, "estimator": "without_replacement"},
            ValueError,
            "num_samples must be at most the number of orders, 6, got 7",
        ),
        ({"cost": lambda z: z[..., 0]}, ValueError, r"cost must give floating-point costs \(2,\), got int32 \(2,\)"),
        ({"cost": lambda _: tf.zeros([])}, ValueError, r"cost must give .* costs \(2,\), got float32 \(\)"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        ks.expected_cost(**{"distribution": RACE, "cost": cost, "num_samples": 2, **arguments})


@pytest.mark.parametrize("estimator", ["score_function", "without_replacement"])
def test_costs_of_a_wrong_shape_fail_with_every_estimator(estimator):
    with pytest.raises(ValueError, match="cost must give floating-point costs"):
        ks.expected_cost(RACE, lambda _: tf.zeros([5]), num_samples=2, estimator=estimator)
