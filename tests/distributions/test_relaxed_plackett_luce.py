"""Relaxed Plackett-Luce: soft sorts of noisy logits, whose limit are the orders of Plackett-Luce."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from scipy import stats
from support.cases.op_case import METHODS
from support.gradients import check_gradients, fixed_weights, tape_gradients
from support.oracles import plackett_luce as order_oracles
from support.oracles import sorting as oracles
from support.tolerances import TOLERANCES
from tensorflow_probability import distributions as tfd

import keras_softsort as ks
from keras_softsort.ops.core import gumbel_noise

INF = np.inf
SCORES = np.random.default_rng(12).normal(size=(2, 4))
MASK = np.array([[True, False, True, True], [True, True, True, False]])
SEED = [3, 4]


def noise(shape, dtype=tf.float64):
    return gumbel_noise.gumbel(shape, tf.constant(SEED), dtype).numpy()


@pytest.mark.parametrize("top_k", [None, 2])
@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "masked"])
@pytest.mark.parametrize("method", METHODS)
def test_samples_are_soft_sorts_of_noisy_scores(method, mask, top_k):
    soft = ks.RelaxedPlackettLuce(SCORES, 0.6, method=method, top_k=top_k, mask=mask)
    keys = SCORES + noise([3, 2, 4])
    masks = None if mask is None else np.broadcast_to(mask, keys.shape)
    wanted = oracles.permutation(keys, 0.6, method=method, mask=masks, top_k=top_k)
    np.testing.assert_allclose(soft.sample(3, seed=SEED), wanted, rtol=1e-10, atol=1e-14)
    still = oracles.permutation(SCORES, 0.6, method=method, mask=mask, top_k=top_k)
    np.testing.assert_allclose(soft.relaxed_mode(), still, rtol=1e-10, atol=1e-14)


@pytest.mark.nightly
def test_samples_under_xla():
    keys, options = SCORES + noise([3, 2, 4]), {"method": "neural_sort", "top_k": 2}
    soft = ks.RelaxedPlackettLuce(SCORES, 0.6, mask=MASK, **options)
    wanted = oracles.permutation(keys, 0.6, mask=np.broadcast_to(MASK, keys.shape), **options)
    still = oracles.permutation(SCORES, 0.6, mask=MASK, **options)
    compiled = tf.function(lambda: (soft.sample(3, seed=SEED), soft.relaxed_mode()), jit_compile=True)
    for found, truth in zip(compiled(), (wanted, still), strict=True):
        np.testing.assert_allclose(found, truth, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_cold_and_hard_samples_are_the_orders_of_the_same_seed(method):
    options = {"top_k": 3, "mask": MASK}
    orders = ks.PlackettLuce(SCORES, **options).sample(5, seed=SEED).numpy()
    wanted = np.eye(4)[orders]
    soft = ks.RelaxedPlackettLuce(SCORES, 1e-6, method=method, **options)
    np.testing.assert_allclose(soft.sample(5, seed=SEED), wanted, atol=1e-12)
    hard = ks.RelaxedPlackettLuce(SCORES, 3.0, method=method, hard=True, **options)
    np.testing.assert_array_equal(hard.sample(5, seed=SEED), wanted)
    mode = ks.PlackettLuce(SCORES, **options).mode()
    np.testing.assert_array_equal(hard.relaxed_mode(), np.eye(4)[mode])


def test_hard_samples_have_the_soft_gradient():
    weights = fixed_weights([5, 2, 4, 4])
    gradients = [
        tape_gradients(
            lambda s, tau, h=hard: ks.RelaxedPlackettLuce(s, tau, hard=h).sample(5, seed=SEED),
            [tf.constant(SCORES), tf.constant(0.6, tf.float64)],
            weights,
        )[1]
        for hard in (False, True)
    ]
    for soft, hard in zip(*gradients, strict=True):
        np.testing.assert_array_equal(soft, hard)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"mask": MASK, "top_k": 2}], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_gradients(method, options):
    def race(scores, tau):
        return ks.RelaxedPlackettLuce(scores, tau, method=method, **options)

    check_gradients(lambda s, tau: race(s, tau).sample(3, seed=SEED), SCORES, np.array(0.6), rtol=1e-5)
    check_gradients(lambda s, tau: race(s, tau).relaxed_mode(), SCORES, np.array(0.6), rtol=1e-5)


def test_hard_samples_have_the_probabilities_of_orders():
    scores = [0.5, -0.5, 0.1]
    matrices = ks.RelaxedPlackettLuce(scores, hard=True).sample(20_000, seed=SEED).numpy()
    found = [tuple(order) for order in matrices.argmax(axis=-1).tolist()]
    wanted = order_oracles.probabilities(np.array(scores))
    counts = [found.count(order) for order in wanted]
    assert stats.chisquare(counts, 20_000 * np.array(list(wanted.values()))).pvalue > 0.01


@pytest.mark.parametrize("garbage", [1e30, np.nan, INF, -INF])
def test_padding_changes_nothing_and_gets_no_gradient(garbage):
    wide, mask = np.pad(SCORES, [(0, 0), (0, 2)], constant_values=garbage), np.arange(6) < [[4], [4]]
    weights = fixed_weights([2, 6, 6])
    mode, (gradient,) = tape_gradients(
        lambda s: ks.RelaxedPlackettLuce(s, mask=mask).relaxed_mode(), [tf.constant(wide)], weights
    )
    narrow, (wanted,) = tape_gradients(
        lambda s: ks.RelaxedPlackettLuce(s).relaxed_mode(), [tf.constant(SCORES)], weights[:, :4, :4]
    )
    np.testing.assert_allclose(mode[:, :4, :4], narrow, rtol=1e-12)
    np.testing.assert_allclose(gradient[:, :4], wanted, rtol=1e-9, atol=1e-14)
    np.testing.assert_array_equal(gradient[:, 4:], 0)
    samples, (gradient,) = tape_gradients(
        lambda s: ks.RelaxedPlackettLuce(s, mask=mask).sample(seed=SEED), [tf.constant(wide)], weights
    )
    np.testing.assert_allclose(np.sum(samples[:, :4, :4], axis=-1), 1, rtol=1e-12)
    np.testing.assert_allclose(samples[:, 4:], np.broadcast_to([0, 0, 0, 0, 0.5, 0.5], [2, 2, 6]))
    np.testing.assert_array_equal(samples[:, :4, 4:], 0)
    assert np.all(np.isfinite(gradient))
    np.testing.assert_array_equal(gradient[:, 4:], 0)


def test_minus_infinity_is_padding():
    never = ks.RelaxedPlackettLuce(np.where(MASK, SCORES, -INF))
    masked = ks.RelaxedPlackettLuce(SCORES, mask=MASK)
    np.testing.assert_array_equal(never.sample(3, seed=SEED), masked.sample(3, seed=SEED))
    both = ks.RelaxedPlackettLuce([0.0, -INF, 1.0, 2.0], mask=[True, True, False, True])
    np.testing.assert_array_equal(both.relaxed_mode()[2:], [[0, 0.5, 0.5, 0]] * 2)
    none = ks.RelaxedPlackettLuce(np.full([3], -INF))
    np.testing.assert_allclose(none.sample(seed=SEED), np.full([3, 3], 1 / 3), rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, INF])
def test_what_is_not_a_number_shows_in_its_list_alone(bad):
    scores = SCORES.copy()
    scores[0, 2] = bad
    for found in (
        ks.RelaxedPlackettLuce(scores).sample(2, seed=SEED)[1],
        ks.RelaxedPlackettLuce(scores).relaxed_mode(),
    ):
        assert np.all(np.isnan(found[0]))
        assert np.all(np.isfinite(found[1]))


@pytest.mark.parametrize("dtype", TOLERANCES, ids=lambda dtype: dtype.name)
def test_dtypes(dtype):
    scores = tf.cast(SCORES, dtype)
    soft = ks.RelaxedPlackettLuce(scores, 0.6)
    samples = soft.sample(3, seed=SEED)
    assert samples.dtype == soft.dtype == soft.relaxed_mode().dtype == dtype
    wide = tf.float64 if dtype == tf.float64 else tf.float32
    wanted = oracles.neural_sort(np.float64(tf.cast(scores, wide).numpy() + noise([3, 2, 4], wide)), 0.6)
    np.testing.assert_allclose(
        tf.cast(samples, tf.float64), wanted, rtol=TOLERANCES[dtype].rtol, atol=TOLERANCES[dtype].atol
    )


@pytest.mark.slow
def test_shapes_of_every_kind():
    soft = ks.RelaxedPlackettLuce(np.zeros([2, 3, 4]), top_k=2, mask=np.ones([2, 3, 4], bool))
    assert (soft.batch_shape, soft.event_shape) == ((2, 3), (2, 4))
    np.testing.assert_array_equal(soft.event_shape_tensor(), [2, 4])
    assert soft.sample([5, 6], seed=SEED).shape == (5, 6, 2, 3, 2, 4)
    assert soft[:, 1].sample(seed=SEED).shape == (2, 2, 4)
    assert soft.copy(top_k=None).event_shape == (4, 4)
    assert tfd.Independent(soft, 1).sample(seed=SEED).shape == (2, 3, 2, 4)
    assert tfd.Sample(soft, 7).sample(seed=SEED).shape == (2, 3, 7, 2, 4)
    assert ks.RelaxedPlackettLuce(tf.zeros([2, 0])).sample(3, seed=SEED).shape == (3, 2, 0, 0)
    np.testing.assert_array_equal(ks.RelaxedPlackettLuce([[2.0]]).sample(seed=SEED), [[[1.0]]])

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64), tf.TensorSpec([None, None], tf.bool)])
    def unknown(scores, mask):
        soft = ks.RelaxedPlackettLuce(scores, mask=mask, top_k=3)
        return soft.sample(2, seed=SEED), soft.event_shape_tensor()

    samples, event_shape = unknown(SCORES, MASK)
    known = ks.RelaxedPlackettLuce(SCORES, mask=MASK, top_k=3)
    np.testing.assert_allclose(samples, known.sample(2, seed=SEED), rtol=1e-12)
    np.testing.assert_array_equal(event_shape, [3, 4])


def test_arguments_can_be_read():
    soft = ks.RelaxedPlackettLuce(SCORES, 0.3, validate_args=True, allow_nan_stats=False, name="soft")
    np.testing.assert_array_equal(soft.logits, SCORES)
    assert (soft.tau, soft.name, soft.allow_nan_stats, soft.validate_args) == (0.3, "soft", False, True)
    assert soft.reparameterization_type == tfd.FULLY_REPARAMETERIZED
    with pytest.raises(NotImplementedError, match="log_prob"):
        soft.log_prob(tf.eye(4, batch_shape=[2], dtype=tf.float64))


def test_variables_are_trained():
    logits, tau = tf.Variable(SCORES[0]), tf.Variable(1.0, dtype=tf.float64)
    soft = ks.RelaxedPlackettLuce(logits, tau)
    assert {id(variable) for variable in soft.trainable_variables} == {id(logits), id(tau)}
    with tf.GradientTape() as tape:
        value = tf.reduce_sum(soft.sample(20, seed=SEED)[:, 0, 1])
    assert all(np.all(np.abs(gradient) > 1e-4) for gradient in tape.gradient(value, [logits, tau]))
    before = soft.relaxed_mode()
    tau.assign(0.1)
    np.testing.assert_allclose(soft.relaxed_mode(), oracles.neural_sort(SCORES[0], 0.1), rtol=1e-10, atol=1e-14)
    assert np.max(np.abs(before - soft.relaxed_mode())) > 0.1
    assert np.all(np.isnan(ks.RelaxedPlackettLuce(SCORES, tf.constant(-1.0)).relaxed_mode()))


def test_tfp_makes_it_trainable():
    trainable = tfp.experimental.util.make_trainable(
        ks.RelaxedPlackettLuce, batch_and_event_shape=[2, 4, 4], seed=1, tau=0.5
    )
    (logits,) = trainable.trainable_variables
    assert logits.shape == (2, 4)
    assert trainable.sample(seed=SEED).shape == (2, 4, 4)
    low = ks.RelaxedPlackettLuce.parameter_properties()["tau"].default_constraining_bijector_fn()
    assert np.all(low.forward([-1e4, 0.0]) > 0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"logits": 1.0}, ValueError, r"logits must have shape \[\.\.\., n\], got a scalar"),
        ({"tau": tf.ones([3])}, ValueError, r"tau must broadcast .* of logits, \(2,\), got shape \(3,\)"),
        ({"validate_args": "x"}, TypeError, "validate_args must be True or False, got 'x'"),
        ({"top_k": 5}, ValueError, "top_k must be at most the list size, 4, got 5"),
        ({"mask": [True] * 4}, ValueError, r"mask must have the shape of logits, \(2, 4\), got \(4,\)"),
    ],
    ids=str,
)
def test_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        ks.RelaxedPlackettLuce(**{"logits": SCORES, **arguments})
