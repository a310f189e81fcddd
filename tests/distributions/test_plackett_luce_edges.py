"""Plackett-Luce at its ends: what cannot be chosen, empty lists, bad input; and TensorFlow Probability's own tools."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from support import models
from support.gradients import fixed_weights, tape_gradients
from support.oracles import plackett_luce as oracles
from tensorflow_probability import distributions as tfd

import keras_softsort as ks

INF = np.inf
SCORES = np.random.default_rng(6).normal(size=(2, 3, 4))
MASK = np.random.default_rng(1).random(size=(2, 3, 4)) < 0.7
ORDER = [2, 0, 3, 1]


@pytest.mark.parametrize("garbage", [1e30, np.nan, INF, -INF])
def test_padding_changes_nothing_and_gets_no_gradient(garbage):
    wide = np.pad(SCORES, [(0, 0), (0, 0), (0, 2)], constant_values=garbage)
    mask = np.broadcast_to(np.arange(6) < 4, wide.shape)
    weights = fixed_weights([2, 3])
    value, (gradient,) = tape_gradients(
        lambda s: ks.PlackettLuce(s, mask=mask).log_prob([*ORDER, 5, 4]), [tf.constant(wide)], weights
    )
    wanted, (wanted_gradient,) = tape_gradients(
        lambda s: ks.PlackettLuce(s).log_prob(ORDER), [tf.constant(SCORES)], weights
    )
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    np.testing.assert_allclose(gradient[..., :4], wanted_gradient, rtol=1e-12, atol=1e-15)
    assert np.all(gradient[..., 4:] == 0)
    race, narrow = ks.PlackettLuce(wide, mask=mask), ks.PlackettLuce(SCORES)
    np.testing.assert_array_equal(race.mode()[..., :4], narrow.mode())
    np.testing.assert_array_equal(race.mode()[..., 4:], np.broadcast_to([4, 5], [2, 3, 2]))
    for name in ("marginal_top_k", "entropy"):
        found, wanted = getattr(race, name)().numpy(), getattr(narrow, name)()
        np.testing.assert_allclose(found[..., :4] if name == "marginal_top_k" else found, wanted, rtol=1e-12)


def test_what_cannot_be_chosen_comes_last_by_index_and_padding_after_it():
    scores = [[-INF, 2.0, -INF, 1.0, -INF, 9.0], [-INF] * 6, [0.0] * 6]
    mask = np.array([[True, True, False, True, True, False], [True] * 6, [False] * 6])
    race = ks.PlackettLuce(scores, mask=mask)
    wanted = [[1, 3, 0, 4, 2, 5], range(6), range(6)]
    np.testing.assert_array_equal(race.mode(), wanted)
    samples = race.sample(50, seed=1).numpy()
    np.testing.assert_array_equal(np.unique(samples[:, 0, :2], axis=0), [[1, 3], [3, 1]])
    np.testing.assert_array_equal(samples[:, 0, 2:], [[0, 4, 2, 5]] * 50)
    np.testing.assert_array_equal(samples[:, 1:], [[range(6)] * 2] * 50)
    np.testing.assert_array_equal(race.sample_without_replacement(2, seed=1)[:, 0, 2:], [[0, 4, 2, 5]] * 2)
    np.testing.assert_array_equal(race.possible(), [[False, True, False, True, False, False], [False] * 6, [False] * 6])
    np.testing.assert_array_equal(race.entropy()[1:], [0, 0])
    np.testing.assert_allclose(np.exp(race.log_num_orders()), [2, 1, 1], rtol=1e-12)
    np.testing.assert_allclose(np.exp(ks.PlackettLuce(scores, top_k=1).log_num_orders()), [3, 1, 6], rtol=1e-12)


def test_an_impossible_order_has_finite_gradients():
    scores = tf.constant([0.5, -INF, 1.0, -INF], tf.float64)
    for order in ([1, 0, 2, 3], [0, 1, 2, 3], [3, 1, 0, 2]):
        value, (gradient,) = tape_gradients(lambda s, z=order: ks.PlackettLuce(s).log_prob(z), [scores], 1.0)
        assert value == -INF
        assert np.all(np.isfinite(gradient))
    for order in ([2, 0, 1, 3], [2, 0, 3, 1]):
        value, (gradient,) = tape_gradients(lambda s, z=order: ks.PlackettLuce(s).log_prob(z), [scores], 1.0)
        np.testing.assert_allclose(value, oracles.log_prob(scores.numpy(), order), rtol=1e-13)
        np.testing.assert_allclose(gradient, oracles.log_prob_gradient(scores.numpy(), order), atol=1e-14)


@pytest.mark.parametrize("bad", [np.nan, INF])
def test_what_is_not_a_number_shows_in_its_list_alone(bad):
    scores = SCORES[0].copy()
    scores[1, 2] = bad
    race, good = ks.PlackettLuce(scores), ks.PlackettLuce(SCORES[0])
    for name in ("entropy", "marginal_top_k"):
        found, wanted = getattr(race, name)().numpy(), getattr(good, name)().numpy()
        assert np.all(np.isnan(found[1]))
        # TensorFlow 2.15 rounds a logarithm differently beside infinity.
        np.testing.assert_allclose(found[[0, 2]], wanted[[0, 2]], rtol=0 if models.IS_KERAS_3 else 1e-14)
    sampled = race.marginal_top_k(2, num_samples=10, seed=1).numpy()
    np.testing.assert_array_equal(np.isnan(sampled), [[False] * 4, [True] * 4, [False] * 4])
    assert np.isnan(race.log_prob(ORDER)[1])
    for orders in (race.sample(5, seed=1), race.mode(), race.sample_without_replacement(5, seed=1)):
        np.testing.assert_array_equal(np.sort(orders, axis=-1), np.broadcast_to(range(4), orders.shape))


def test_short_lists():
    empty = ks.PlackettLuce(tf.zeros([2, 0]))
    assert empty.sample(3, seed=1).shape == (3, 2, 0)
    assert empty.mode().shape == empty.marginal_top_k().shape == (2, 0)
    for value in (empty.log_prob(tf.zeros([2, 0], tf.int32)), empty.entropy()):
        np.testing.assert_array_equal(value, [0, 0])
    single = ks.PlackettLuce([[3.0], [-INF]])
    np.testing.assert_array_equal(single.sample(2, seed=1), np.zeros([2, 2, 1]))
    np.testing.assert_array_equal(single.log_prob([0]), [0, 0])
    np.testing.assert_array_equal(single.marginal_top_k(), [[1], [0]])
    no_lists = ks.PlackettLuce(tf.zeros([0, 3]))
    assert no_lists.sample(2, seed=1).shape == (2, 0, 3)
    assert no_lists.log_prob([0, 1, 2]).shape == no_lists.entropy().shape == (0,)


A = tf.zeros([2, 3])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"logits": 1.0}, ValueError, r"logits must have shape \[\.\.\., n\], got a scalar"),
        ({"top_k": 4}, ValueError, "top_k must be at most the list size, 3, got 4"),
        ({"mask": [True] * 3}, ValueError, r"mask must have the shape of logits, \(2, 3\), got \(3,\)"),
    ],
    ids=str,
)
def test_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        ks.PlackettLuce(**{"logits": A, **arguments})


def test_errors_of_methods():
    race = ks.PlackettLuce(A, top_k=2)
    with pytest.raises(ValueError, match=r"value must be orders \[\.\.\., 2\], got shape \(3,\)"):
        race.log_prob([0, 1, 2])
    with pytest.raises(ValueError, match="k must be at most the list size, 3, got 4"):
        race.marginal_top_k(4)
    for method in (race.marginal_top_k, race.sample_without_replacement, race.estimate_entropy):
        with pytest.raises(ValueError, match="num_samples must be at least 1, got 0"):
            method(num_samples=0)
    with pytest.raises(ValueError, match="num_samples must be at most the number of orders, 6, got 7"):
        race.sample_without_replacement(7)
    other = ks.PlackettLuce(A)
    for compare in (race.kl_divergence, lambda q: race.estimate_kl_divergence(q, 10)):
        with pytest.raises(ValueError, match=r"other must have events of shape \(2,\), got \(3,\)"):
            compare(other)


def test_top_k_beyond_a_list_of_unknown_size_fails_when_run():
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def run(scores):
        return ks.PlackettLuce(scores, top_k=4).sample(seed=[1, 2])

    assert run(tf.zeros([2, 5])).shape == (2, 4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="top_k must be at most the list size, got 4"):
        run(A)


def test_validate_args():
    for bad in (np.nan, INF):
        with pytest.raises(tf.errors.InvalidArgumentError, match="logits must be finite or -inf"):
            ks.PlackettLuce([0.0, bad], validate_args=True)
        ks.PlackettLuce([0.0, bad], mask=[True, False], validate_args=True)
    variable = tf.Variable([0.0, 1.0, 2.0])
    race = ks.PlackettLuce(variable, validate_args=True)
    np.testing.assert_allclose(race.log_prob([0, 1, 2]), oracles.log_prob([0, 1, 2], [0, 1, 2]), rtol=1e-6)
    for order in ([0, 0, 1], [0, 1, 3], [-1, 0, 1]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="value must hold items from 0 to n - 1, each at most"):
            race.log_prob(order)
    with pytest.raises(tf.errors.InvalidArgumentError, match="value must hold items"):
        ks.PlackettLuce(variable, top_k=2, validate_args=True).log_prob([1, 1])
    variable.assign([0.0, np.nan, 0.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="logits must be finite or -inf"):
        race.sample()


def test_arguments_can_be_read():
    race = ks.PlackettLuce(SCORES, top_k=2, mask=MASK, allow_nan_stats=False, name="race")
    np.testing.assert_array_equal(race.logits, SCORES)
    np.testing.assert_array_equal(race.mask, MASK)
    assert (race.top_k, race.name, race.allow_nan_stats, race.validate_args) == (2, "race", False, False)
    assert race.reparameterization_type == tfd.NOT_REPARAMETERIZED


def test_shapes_slices_and_copies():
    race = ks.PlackettLuce(SCORES, top_k=3, mask=MASK)
    assert (race.batch_shape, race.event_shape) == ((2, 3), (3,))
    np.testing.assert_array_equal(race.batch_shape_tensor(), [2, 3])
    np.testing.assert_array_equal(race.event_shape_tensor(), [3])
    np.testing.assert_array_equal(race[..., :2].possible(), race.possible()[:, :2])
    for index in (1, (slice(None), 2), (0, tf.newaxis)):
        part = race[index]
        np.testing.assert_array_equal(part.possible(), race.possible().numpy()[index])
        np.testing.assert_array_equal(part.log_prob([2, 0, 1]), race.log_prob([2, 0, 1]).numpy()[index])
        assert part.top_k == 3
    copy = race.copy(top_k=1, mask=None)
    assert (copy.event_shape, copy.mask) == ((1,), None)
    np.testing.assert_array_equal(copy.logits, SCORES)

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def unknown(scores):
        race = ks.PlackettLuce(scores)
        assert race.event_shape.as_list() == race.batch_shape.as_list() == [None]
        return race.batch_shape_tensor(), race.event_shape_tensor()

    np.testing.assert_array_equal(np.concatenate(unknown(A)), [2, 3])


def test_tfp_combines_it():
    race = ks.PlackettLuce(SCORES, mask=MASK)
    orders = race.sample(5, seed=1)
    independent = tfd.Independent(race, 1)
    assert (independent.batch_shape, independent.event_shape) == ((2,), (3, 4))
    np.testing.assert_allclose(independent.log_prob(orders), np.sum(race.log_prob(orders), axis=-1), rtol=1e-12)
    repeated = tfd.Sample(ks.PlackettLuce(SCORES[0, 0]), 3)
    np.testing.assert_allclose(repeated.log_prob([ORDER] * 3), 3 * oracles.log_prob(SCORES[0, 0], ORDER), rtol=1e-12)
    assert repeated.sample(2, seed=1).shape == (2, 3, 4)

    def race_of(scores):
        return ks.PlackettLuce(scores, validate_args=True)

    joint = tfd.JointDistributionSequential([tfd.Normal(tf.zeros([3]), 1.0), race_of])
    scores, order = joint.sample(seed=1)
    assert (scores.shape, order.shape) == ((3,), (3,))


def test_variables_stay_variables():
    logits = tf.Variable([0.0, 1.0, 2.0])
    race = ks.PlackettLuce(logits)
    assert race.trainable_variables == (logits,)
    logits.assign([5.0, 1.0, 2.0])
    np.testing.assert_array_equal(race.mode(), [0, 2, 1])
    np.testing.assert_allclose(race.log_prob([0, 2, 1]), oracles.log_prob([5, 1, 2], [0, 2, 1]), rtol=1e-5)
    positive = tfp.util.TransformedVariable([1.0, 4.0, 2.0], tfp.bijectors.Exp())
    deferred = ks.PlackettLuce(tfp.util.DeferredTensor(positive, tf.math.log))
    with tf.GradientTape() as tape:
        value = deferred.log_prob([1, 2, 0])
    np.testing.assert_allclose(value, np.log(4 / 7 * 2 / 3), rtol=1e-6)
    (gradient,) = tape.gradient(value, deferred.trainable_variables)
    np.testing.assert_allclose(gradient, oracles.log_prob_gradient(np.log([1.0, 4, 2]), [1, 2, 0]), rtol=1e-5)
    assert len(deferred.trainable_variables) == 1


@pytest.mark.slow
def test_tfp_makes_it_trainable():
    race = tfp.experimental.util.make_trainable(ks.PlackettLuce, batch_and_event_shape=[4], seed=1)
    (logits,) = race.trainable_variables
    assert logits.shape == (4,)
    orders = ks.PlackettLuce([1.0, 0.0, -1.0, 2.0]).sample(200, seed=1)
    optimizer = tf.keras.optimizers.Adam(0.3)
    for _ in range(30):
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(race.log_prob(orders))
        optimizer.apply_gradients([(tape.gradient(loss, logits), logits)])
    np.testing.assert_array_equal(race.mode(), [3, 0, 1, 2])
