"""The Plackett-Luce layer: soft permutations or orders, with noise in training alone."""

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats
from support import models
from support.cases.op_case import METHODS
from support.gradients import tape_gradients
from support.oracles import plackett_luce as order_oracles
from support.oracles import sorting as oracles

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

keras = tf.keras
INF = np.inf
SCORES = tf.constant(np.random.default_rng(13).normal(size=(2, 5)), tf.float32)
TAU = tf.constant([0.3, 0.9])
MASK = np.array([[True, False, True, True, False], [True] * 5])
LAYERS = [
    {"method": "neural_sort"},
    {"method": "soft_sort", "top_k": 2},
    {"hard": True},
    {"method": None},
    {"method": None, "top_k": 3},
]


def differ(one, other):
    return np.max(np.abs(np.float64(one) - np.float64(other))) > 0.05


@pytest.mark.parametrize("options", LAYERS, ids=str)
def test_layer_draws_in_training_only_and_anew_each_time(options):
    layer = ks.PlackettLuceSampler(8, tau=0.5, seed=1, **options)
    still = layer(SCORES)
    np.testing.assert_array_equal(still, layer(SCORES, training=False))
    np.testing.assert_array_equal(still, np.repeat(still[:, :1], 8, axis=1))
    first, second = layer(SCORES, training=True).numpy(), layer(SCORES, training=True).numpy()
    assert first.shape == still.shape
    assert first.dtype == still.dtype
    assert differ(first, second)
    assert any(differ(first[:, 0], first[:, sample]) for sample in range(1, 8))
    assert differ(first[0], first[1])
    again = ks.PlackettLuceSampler(8, tau=0.5, seed=1, **options)
    np.testing.assert_array_equal(again(SCORES, training=True), first)
    np.testing.assert_array_equal(again(SCORES), still)
    np.testing.assert_array_equal(tf.function(again)(SCORES, training=True), second)
    other = ks.PlackettLuceSampler(8, tau=0.5, seed=2, **options)
    assert differ(other(SCORES, training=True), first)


def test_power():
    layer = ks.PlackettLuceSampler(tau=0.5, method="soft_sort", power=2.0)
    np.testing.assert_allclose(layer(SCORES), ks.soft_sort(SCORES, 0.5, power=2.0), rtol=1e-6)


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "masked"])
@pytest.mark.parametrize("top_k", [None, 2])
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_inference_is_the_operator(method, hard, top_k, mask):
    layer = ks.PlackettLuceSampler(3, tau=0.5, method=method, hard=hard, top_k=top_k)
    found = layer(SCORES, mask=mask)
    assert found.shape == (2, 3, top_k or 5, 5)
    wanted = oracles.permutation(SCORES, 1e-6 if hard else 0.5, method=method, mask=mask, top_k=top_k)
    for sample in range(3):
        if hard and mask is not None:  # the soft ranks of padding are spread, the hard ones are not
            np.testing.assert_allclose(found[:, sample, :3], wanted[:, :3], atol=1e-6)
        else:
            np.testing.assert_allclose(found[:, sample], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "masked"])
@pytest.mark.parametrize("training", [False, True])
def test_orders(training, mask):
    layer = ks.PlackettLuceSampler(4, method=None, top_k=4, seed=1)
    orders = layer(SCORES, mask=mask, training=training)
    assert orders.shape == (2, 4, 4)
    assert orders.dtype == tf.int32
    for row in range(2):
        keep = None if mask is None else mask[row]
        possible = order_oracles.outcomes(order_oracles.masked(SCORES[row], keep), 4, keep)
        assert {tuple(order) for order in orders[row].numpy().tolist()} <= set(possible)
    if not training:
        mode = ks.PlackettLuce(SCORES, top_k=4, mask=mask).mode()
        np.testing.assert_array_equal(orders, np.repeat(mode[:, tf.newaxis], 4, axis=1))


@pytest.mark.parametrize("options", [{"method": None}, {"hard": True}, {"hard": True, "method": "soft_sort"}])
def test_training_draws_orders_by_their_probabilities(options):
    scores = [[0.5, -0.5, 0.1, 9.0], [0.0, 1.0, -INF, 0.3]]
    mask = [[True, True, True, False], [True] * 4]
    layer = ks.PlackettLuceSampler(10_000, seed=3, **options)
    found = layer(tf.constant(scores), mask=tf.constant(mask), training=True).numpy()
    orders = found if options.get("method", "") is None else found.argmax(axis=-1)
    for row in range(2):
        wanted = order_oracles.probabilities(order_oracles.masked(scores[row], mask[row]), None, mask[row])
        drawn = [tuple(order) for order in orders[row].tolist()]
        counts = [drawn.count(order) for order in wanted]
        assert sum(counts) == 10_000
        assert stats.chisquare(counts, 10_000 * np.array(list(wanted.values()))).pvalue > 0.01


@pytest.mark.parametrize("options", [{"method": "neural_sort"}, {"method": "soft_sort"}], ids=str)
def test_samples_in_training_are_those_of_the_distribution(options):
    """A seed of a layer is its own and the number of the call."""
    layer = ks.PlackettLuceSampler(3, tau=0.5, seed=7, top_k=2, **options)
    repeated = [tf.repeat(each[:, tf.newaxis], 3, axis=1) for each in (SCORES, tf.constant(MASK))]
    race = ks.RelaxedPlackettLuce(repeated[0], 0.5, mask=repeated[1], top_k=2, **options)
    for call in range(2):
        found = layer(SCORES, mask=MASK, training=True)
        np.testing.assert_allclose(found, race.sample(seed=[7, call]), rtol=1e-6, atol=1e-7)


def test_hard_samples_have_the_soft_gradient():
    gradients = [
        tape_gradients(
            lambda x, h=hard: ks.PlackettLuceSampler(2, tau=0.5, hard=h, seed=1)(x, training=True),
            [SCORES],
            np.random.default_rng(1).normal(size=(2, 2, 5, 5)),
        )[1][0].numpy()
        for hard in (False, True)
    ]
    assert np.all(np.abs(gradients[0]) > 1e-6)
    np.testing.assert_array_equal(*gradients)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("options", LAYERS, ids=str)
def test_what_cannot_be_chosen_comes_last(options, training):
    never = np.where(MASK, SCORES, -INF).astype(np.float32)
    layer, again = (ks.PlackettLuceSampler(6, seed=1, tau=0.5, **options) for _ in range(2))
    found = layer(never, training=training).numpy()
    np.testing.assert_array_equal(found, again(SCORES, mask=MASK, training=training))
    assert np.all(np.isfinite(found))
    if options.get("method", "") is None:
        assert not np.any(np.isin(found[0, :, :3], [1, 4]))
    else:
        assert np.all(found[0, :, :3][..., [1, 4]] == 0)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("options", [*LAYERS, {"learn_tau": True}], ids=str)
def test_only_a_number_of_samples_adds_an_axis(options, training):
    none, one = (ks.PlackettLuceSampler(count, seed=1, **options) for count in (None, 1))
    found, wanted = (layer([SCORES, TAU], mask=MASK, training=training) for layer in (none, one))
    np.testing.assert_allclose(found, wanted[:, 0], rtol=1e-6, atol=1e-7)
    assert tuple(none.compute_output_shape((2, 5))) == found.shape
    assert tuple(none(keras.Input([5])).shape) == (None, *found.shape[1:])


def test_without_a_sample_axis_the_mask_is_handed_on():
    mask = tf.constant(MASK)
    np.testing.assert_array_equal(ks.PlackettLuceSampler().compute_mask(SCORES, mask), MASK)
    assert ks.PlackettLuceSampler(top_k=2).compute_mask(SCORES, mask) is None
    first = [[True, True, True, False], [True] * 4]
    np.testing.assert_array_equal(ks.PlackettLuceSampler(method=None, top_k=4).compute_mask(SCORES, mask), first)


@pytest.mark.parametrize("options", [{}, {"method": None}, {"top_k": 2}], ids=str)
def test_no_mask_is_handed_on_with_samples(options):
    assert ks.PlackettLuceSampler(2, **options).compute_mask(SCORES, tf.constant(MASK)) is None


def test_padding_of_samples_in_a_model():
    layer = ks.PlackettLuceSampler(1)
    inputs = keras.Input((None, 3))
    outputs = inputs
    for part in [*models.head(), layer]:
        outputs = part(outputs)
    assert getattr(outputs, "_keras_mask", None) is None
    x, _ = models.features()
    padded, _ = models.pad(x, np.zeros(x.shape[:2]))
    model = keras.Model(inputs, outputs)
    np.testing.assert_allclose(model(padded)[:, :, :5, :5], model(x), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_fit_learns_to_sort():
    x, _ = models.features(batch=16)
    y = x @ np.float32([0.2, 1.0, -0.7])
    inputs = keras.Input((None, 3))
    scores = inputs
    for part in models.head():
        scores = part(scores)
    layer = ks.PlackettLuceSampler(4, tau=2.0, top_k=2, seed=1)
    model = keras.Model(inputs, layer(scores))
    model.compile(keras.optimizers.Adam(0.2), "mse")
    target = np.eye(5, dtype="float32")[np.argsort(-y)[:, :2]]
    losses = model.fit(x, np.repeat(target[:, np.newaxis], 4, axis=1), epochs=15, verbose=0).history["loss"]
    assert losses[-1] < 0.8 * losses[0]
    calls = [int(weight.numpy()[0]) // 256 for weight in layer.weights if weight.shape == (3,)]
    assert calls == [15]


def test_every_argument_is_used():
    plain = ks.PlackettLuceSampler(tau=0.3, seed=1)(SCORES, training=True).numpy()
    for arguments in ({"tau": 1.0}, {"hard": True}, {"method": "soft_sort"}, {"seed": 2}):
        found = ks.PlackettLuceSampler(**{"tau": 0.3, "seed": 1, **arguments})(SCORES, training=True)
        assert np.max(np.abs(found.numpy() - plain)) > 1e-3
    layer = ks.PlackettLuceSampler(3, top_k=2, name="sampler", dtype="float64")
    found = layer(tf.cast(SCORES, tf.float64), training=True)
    assert (layer.name, found.shape, found.dtype) == ("sampler", (2, 3, 2, 5), tf.float64)
    annealed = ks.PlackettLuceSampler(tau=5.0, seed=1)
    annealed.tau.assign(0.3)
    np.testing.assert_allclose(annealed(SCORES, training=True), plain, rtol=1e-5, atol=1e-6)


def test_orders_are_not_hard():
    with pytest.raises(ValueError, match="hard must be False with method=None"):
        ks.PlackettLuceSampler(hard=True, method=None)


@pytest.mark.parametrize("options", [{}, {"method": None}], ids=str)
def test_errors_of_calls(options):
    with pytest.raises(ValueError, match=r"must have shape \[batch, n\] or \[batch, n, 1\], got \(2, 3, 3\)"):
        ks.PlackettLuceSampler(**options)(tf.zeros([2, 3, 3]))
    with pytest.raises(ValueError, match="top_k must be at most the list size, 3, got 4"):
        ks.PlackettLuceSampler(top_k=4, **options)(tf.zeros([2, 3]))
    with pytest.raises(TypeError, match="logits must be floating-point, got dtype int32"):
        ks.PlackettLuceSampler(**options)(tf.zeros([2, 3], tf.int32))
