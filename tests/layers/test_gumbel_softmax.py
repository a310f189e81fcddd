"""GumbelSoftmaxLayer: when it draws, what it gives without noise, masks, and the temperature that it learns."""

import numpy as np
import pytest
import tensorflow as tf
from support import models
from support.gradients import tape_gradients
from support.oracles import subsets as subset_oracles

import keras_softsort as ks
from keras_softsort import ops

pytestmark = pytest.mark.default_stack_only

keras = tf.keras
LOGITS = np.random.default_rng(5).normal(size=(4, 5)).astype("float32")
LAYER = ks.GumbelSoftmaxLayer


def draw(layer, x=LOGITS):
    return layer(x, training=True).numpy()


def test_draws_in_training_only_and_anew_each_time():
    layer = LAYER(tau=0.5, hard=False, seed=1)
    still = layer(LOGITS)
    np.testing.assert_array_equal(still, layer(LOGITS, training=False))
    np.testing.assert_allclose(still, subset_oracles.softmax(LOGITS / 0.5), rtol=1e-5)
    first, second = draw(layer), draw(layer)
    assert np.max(np.abs(first - second)) > 0.1
    np.testing.assert_array_equal(draw(LAYER(tau=0.5, hard=False, seed=1)), first)
    assert np.max(np.abs(draw(LAYER(tau=0.5, hard=False, seed=2)) - first)) > 0.1
    np.testing.assert_array_equal(first, ops.gumbel_softmax(LOGITS, 0.5, seed=tf.constant([1, 0], tf.int64)))


@pytest.mark.parametrize("k", [1, 3])
def test_inference_is_the_choice_without_noise(k):
    np.testing.assert_array_equal(LAYER(k=k, hard=True)(LOGITS), subset_oracles.largest(LOGITS, k))
    soft = LAYER(k=k, method="successive_softmax", hard=False, tau=0.4)(LOGITS)
    np.testing.assert_allclose(soft, subset_oracles.relaxed_subset(LOGITS, 0.4, k), rtol=1e-5)
    ties = LAYER(k=k, hard=True)(tf.zeros([1, 4]))
    np.testing.assert_array_equal(ties, [[1] * k + [0] * (4 - k)])


def test_hard_samples_are_exact_with_the_gradient_of_the_soft():
    samples = draw(LAYER(k=2, hard=True, seed=4))
    np.testing.assert_array_equal(np.sort(samples)[:, :3], np.zeros([4, 3]))
    np.testing.assert_array_equal(samples.sum(axis=1), np.full(4, 2))
    weights = np.random.default_rng(0).normal(size=LOGITS.shape)

    def gradient(hard):
        layer = LAYER(tau=0.7, k=2, seed=4, hard=hard)
        _, (found,) = tape_gradients(lambda x: layer(x, training=True), [tf.constant(LOGITS)], weights)
        return found.numpy()

    assert np.max(np.abs(gradient(True))) > 0.01
    np.testing.assert_allclose(gradient(True), gradient(False), rtol=1e-6)


def test_every_argument_is_used():
    x = np.random.default_rng(6).normal(size=(2, 3, 4)).astype("float32")
    plain = draw(LAYER(seed=1), x)
    for arguments in ({"k": 2}, {"hard": True}, {"axis": 1}, {"seed": 2}):
        assert np.max(np.abs(draw(LAYER(**{"seed": 1, **arguments}), x) - plain)) > 0.05
    soft = LAYER(hard=False)(x).numpy()
    for learn_tau in (False, True):
        assert np.max(np.abs(LAYER(tau=0.3, hard=False, learn_tau=learn_tau)(x) - soft)) > 0.05


def test_seedless_layers_differ_and_follow_set_random_seed():
    keras.utils.set_random_seed(3)
    first, second = draw(LAYER(hard=False)), draw(LAYER(hard=False))
    assert np.max(np.abs(first - second)) > 0.1
    keras.utils.set_random_seed(3)
    np.testing.assert_array_equal(draw(LAYER(hard=False)), first)


@pytest.mark.parametrize("learn_tau", [False, True])
def test_a_loaded_layer_goes_on_with_its_noise_and_temperature(tmp_path, learn_tau):
    model = models.scores_model(LAYER(seed=1, hard=False, learn_tau=learn_tau))
    (model.layers[-1].log_tau if learn_tau else model.layers[-1].tau).assign(-0.5 if learn_tau else 0.3)
    model(LOGITS, training=True)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    wanted = np.exp(-0.5) if learn_tau else 0.3
    assert float(loaded.layers[-1].tau) == float(model.layers[-1].tau) == pytest.approx(wanted)
    np.testing.assert_array_equal(loaded(LOGITS, training=True), model(LOGITS, training=True))


@pytest.mark.slow
def test_masks_are_of_leading_axes():
    x = np.random.default_rng(6).normal(size=(2, 3, 4)).astype("float32")
    steps = np.array([[True, False, True], [False, True, True]])
    run = tf.function(LAYER(hard=False))
    plain = run(x).numpy()
    np.testing.assert_allclose(run(x, mask=steps), plain * steps[..., None], rtol=1e-6)
    # With axis=1 the layer chooses among steps.
    chosen = tf.function(LAYER(hard=False, axis=1))(x, mask=steps).numpy()
    np.testing.assert_allclose(chosen.sum(axis=1), np.ones([2, 4]), rtol=1e-6)
    np.testing.assert_array_equal(chosen[~steps], np.zeros([2, 4]))
    entries = np.random.default_rng(1).uniform(size=x.shape) < 0.7
    wanted = subset_oracles.softmax(np.where(entries, x, -np.inf))
    np.testing.assert_allclose(run(x, mask=entries), wanted, rtol=1e-5)
    items = tf.function(LAYER(k=2, hard=True))(LOGITS, mask=LOGITS < 1)
    np.testing.assert_array_equal(items, subset_oracles.largest(np.where(LOGITS < 1, LOGITS, -np.inf), 2))


def test_mask_is_respected_in_training_and_carried_on():
    inputs = keras.Input((None, 3))
    outputs = inputs
    for part in [*models.head(), LAYER(hard=False, seed=1)]:
        outputs = part(outputs)
    model = keras.Model(inputs, outputs)
    x, y = models.features()
    sample = model(models.pad(x, y)[0], training=True)
    np.testing.assert_allclose(np.sum(sample[:, :5], axis=1), np.ones(6), rtol=1e-5)
    np.testing.assert_array_equal(sample[:, 5:], np.zeros([6, 3]))
    layer, mask = LAYER(), tf.constant([[True, False]])
    np.testing.assert_array_equal(layer.compute_mask(tf.zeros([1, 2]), mask), mask)


@pytest.mark.parametrize("hard", [False, True])
def test_gradient_of_the_learned_temperature(hard):
    """The gradient of log(tau) is tau times the gradient of the operator's tau."""
    layer = LAYER(tau=0.7, k=2, hard=hard, learn_tau=True, seed=1)
    weights = np.random.default_rng(0).normal(size=LOGITS.shape)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(weights * tf.cast(layer(LOGITS, training=True), tf.float64))
    (variable,) = layer.trainable_variables
    found = tape.gradient(
        loss, variable if tf.is_tensor(variable) or isinstance(variable, tf.Variable) else variable.value
    )

    def soft(tau):
        return ops.gumbel_softmax(LOGITS, tau, seed=tf.constant([1, 0], tf.int64), k=2)  # by the threshold

    _, (wanted,) = tape_gradients(soft, [tf.constant(0.7)], weights)
    assert abs(float(found)) > 1e-3
    np.testing.assert_allclose(found, 0.7 * wanted, rtol=1e-5)


def test_an_unlearned_temperature_is_a_weight_that_is_not_trained():
    layer = LAYER(tau=0.7)
    assert layer.log_tau is None
    assert layer.trainable_weights == []
    layer.tau.assign(0.3)
    assert float(layer.tau) == np.float32(0.3)


@pytest.mark.slow
def test_tau_schedule_sets_what_is_not_learned_and_nothing_else():
    annealed, learned = LAYER(name="annealed"), LAYER(name="learned", learn_tau=True)
    inputs = keras.Input((5,))
    model = keras.Model(inputs, learned(annealed(inputs)))
    model.compile("sgd", models.squares)

    def fit(model, **options):
        schedule = ks.TauSchedule(lambda epoch: 0.25, **options)
        model.fit(LOGITS, np.zeros([4, 5]), verbose=0, callbacks=[schedule])

    fit(model)
    assert float(annealed.tau) == 0.25
    assert float(learned.tau) > 0.5
    with pytest.raises(ValueError, match="targets must have a temperature to set, got 'learned', which learns its own"):
        fit(model, targets=["learned"])
    alone = keras.Model(inputs, learned(inputs))
    alone.compile("sgd", models.squares)
    with pytest.raises(ValueError, match="found no layer and no loss of the model with a temperature"):
        fit(alone)


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 4, 5)], ids=str)
@pytest.mark.parametrize("axis", [1, -1])
def test_any_rank(shape, axis):
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    layer = LAYER(axis=axis, hard=True)
    for training in (False, True):
        result = tf.function(layer)(x, training=training)
        assert result.shape == shape
        np.testing.assert_array_equal(np.sum(result, axis=axis), np.ones(np.delete(shape, axis)))


@pytest.mark.parametrize(
    ("arguments", "call", "error", "message"),
    [
        ({}, {"logits": tf.zeros([3])}, ValueError, r"logits must have shape \[batch, \.\.\., n\], got \(3,\)"),
        ({"axis": 0}, {}, ValueError, r"axis must not be the batch, got 0 for logits of shape \(4, 5\)"),
        ({"axis": -2}, {}, ValueError, "axis must not be the batch, got -2"),
        ({"axis": 2}, {}, ValueError, r"axis must be an axis of the shape \(4, 5\), got 2"),
        ({"k": 6}, {}, ValueError, "k must be at most the list size, 5, got 6"),
        (
            {},
            {"mask": tf.ones([4, 3], tf.bool)},
            ValueError,
            r"mask must have the leading axes of the input, \(4, 5\), got",
        ),
        ({}, {"logits": tf.zeros([2, 3], tf.int32)}, TypeError, "logits must be floating-point, got dtype int32"),
    ],
    ids=str,
)
def test_call_errors(arguments, call, error, message):
    with pytest.raises(error, match=message):
        LAYER(**arguments)(call.get("logits", LOGITS), mask=call.get("mask"))


def test_no_item_is_chosen_more_than_once():
    """At the default temperature, where successive softmaxes choose one item more than twice."""
    logits = np.random.default_rng(0).normal(size=(200, 20)).astype("float32")
    found = draw(LAYER(k=5, hard=False, seed=1), logits)
    assert np.max(found) <= 1
    np.testing.assert_allclose(np.sum(found, axis=1), 5, rtol=1e-5)
    published = draw(LAYER(k=5, hard=False, method="successive_softmax", seed=1), logits)
    assert np.max(published) > 1.5


@pytest.mark.parametrize("axis", [1, -1])
def test_a_temperature_per_example_follows_the_logits(axis):
    x, tau = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32"), np.float32([0.3, 2.0])
    found = LAYER(hard=False, k=2, axis=axis)([x, tau])
    for example, each, result in zip(x, tau, found, strict=True):
        expected = ops.gumbel_softmax(example, each, k=2, noise_scale=0, axis=axis - (axis > 0))
        np.testing.assert_allclose(result, expected, atol=1e-6)
