"""The temperature of layers: assigned, learned, one per example; scores as a `Dense(1)` gives them."""

import numpy as np
import pytest
import tensorflow as tf
from support import models
from support.cases import objects

import keras_softsort as ks

keras = tf.keras
X = tf.constant(models.scores(3, 5))
every_layer = pytest.mark.parametrize("case", objects.needed(objects.SORTING_LAYERS), ids=str)


@pytest.mark.slow
@pytest.mark.default_stack_only
def test_assigning_sets_the_weight():
    layer = ks.SoftRankLayer()
    model = models.scores_model(layer)
    model.predict(X, verbose=0)  # traced with the first temperature
    for tau in (0.3, np.float32(0.25), tf.constant(0.5), np.array(2.0)):
        layer.tau = tau
        assert float(tf.convert_to_tensor(layer.tau)) == pytest.approx(float(tau))
        np.testing.assert_allclose(model.predict(X, verbose=0), ks.SoftRankLayer(float(tau))(X), rtol=1e-5)


@pytest.mark.parametrize("learn_tau", [False, True])
def test_an_assigned_temperature_is_saved(tmp_path, learn_tau):
    layer = ks.SoftRankLayer(learn_tau=learn_tau)
    model = models.scores_model(layer)
    layer.tau = 0.1
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(X, verbose=0), ks.SoftRankLayer(0.1)(X), rtol=1e-5)
    assert loaded.layers[-1].get_config()["tau"] == 1.0  # the argument, not the weight


@pytest.mark.parametrize(("tau", "error"), [(0.0, ValueError), ("1", TypeError), ([1.0, 2.0], TypeError)])
def test_assigning_what_is_no_temperature(tau, error):
    with pytest.raises(error, match="tau must be"):
        ks.SoftRankLayer().tau = tau


@pytest.mark.slow
@every_layer
def test_tau_is_seen_by_compiled_functions(case):
    layer = case.make(tau=0.5, learn_tau=False)
    model = models.scores_model(layer)
    before = model.predict(X, verbose=0)
    layer.tau.assign(2.0)
    after = model.predict(X, verbose=0)
    np.testing.assert_allclose(after, case.make(tau=2.0, learn_tau=False)(X), rtol=1e-5, atol=1e-6)
    if not case.is_hard:
        assert np.abs(after - before).max() > 0.02
    assert layer.trainable_weights == []


@every_layer
def test_a_learned_temperature_has_its_gradient(case):
    layer, plain = case.make(tau=0.7, learn_tau=True), case.make(learn_tau=False)
    weights = tf.random.stateless_normal(layer(X).shape, [1, 2])
    tau = tf.constant(0.7)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(tau)
        learned, given = tf.reduce_sum(weights * layer(X)), tf.reduce_sum(weights * plain([X, tf.fill([3], tau)]))
    assert len(layer.trainable_weights) == 1
    (gradient,) = tape.gradient(learned, list(layer.trainable_weights))
    np.testing.assert_allclose(learned, given, rtol=1e-5)
    np.testing.assert_allclose(gradient, 0.7 * tape.gradient(given, tau), rtol=1e-4, atol=1e-6)


def test_a_learned_temperature_is_trained():
    layer = ks.SoftRankLayer(learn_tau=True)
    model = models.scores_model(layer)
    model.compile(keras.optimizers.SGD(0.1), loss="mse")
    model.fit(X, tf.ones([3, 5]), verbose=0)
    assert float(layer.tau) != pytest.approx(1.0)


@pytest.mark.skipif(not models.IS_KERAS_3, reason="weights of Keras 2 cannot be made trainable")
def test_training_the_weight_itself_is_refused():
    layer = ks.NeuralSortLayer()
    layer(X)
    layer.tau.trainable = True
    with pytest.raises(ValueError, match="tau is not trained; make the layer with learn_tau=True to train it"):
        layer(X)
    layer.tau.trainable = False
    layer(X)
    layer.trainable = False
    layer.trainable = True
    assert layer.trainable_weights == []


@every_layer
@pytest.mark.parametrize("trailing", [False, True])
def test_a_temperature_per_example(case, trailing):
    taus = tf.constant([0.3, 1.0, 2.5])
    layer = case.make(tau=9.0, learn_tau=False)
    result = layer([X, taus[:, tf.newaxis] if trailing else taus])
    for i, tau in enumerate(taus):
        np.testing.assert_allclose(
            result[i : i + 1], case.make(tau=float(tau), learn_tau=False)(X[i : i + 1]), rtol=2e-5, atol=2e-6
        )


@pytest.mark.slow
def test_a_temperature_from_a_subgraph():
    """The subgraph is trained with the model, and the mask of the scores is kept."""
    features = keras.Input((None, 3))
    masked = keras.layers.Masking(models.PAD)(features)
    tau = keras.layers.Dense(1, activation="softplus")(keras.layers.GlobalAveragePooling1D()(masked))
    ranks = ks.SoftRankLayer()([keras.layers.Dense(1)(masked), tau])
    model = keras.Model(features, ranks)
    x, _ = models.features()
    wide, _ = models.pad(x, np.zeros([6, 5]))
    np.testing.assert_allclose(model.predict(wide, verbose=0)[:, :5], model.predict(x, verbose=0), rtol=1e-5)
    np.testing.assert_array_equal(model.predict(wide, verbose=0)[:, 5:], 0)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(model(x)))
    assert all(np.abs(gradient).max() > 0 for gradient in tape.gradient(loss, model.trainable_weights)[:1])


@pytest.mark.parametrize("shape", [(3, 2), (3, 5, 1), ()])
def test_a_temperature_of_another_shape(shape):
    with pytest.raises(ValueError, match=r"tau must have shape \[batch\] or \[batch, 1\], got"):
        ks.SoftRankLayer()([X, tf.ones(shape)])


@pytest.mark.parametrize("case", objects.needed(objects.SORTING_LAYERS_OF_LAST_AXIS), ids=str)
def test_scores_as_a_dense_layer_gives_them(case):
    layer = case.make()
    np.testing.assert_allclose(layer(X[:, :, tf.newaxis]), layer(X))
    mask = tf.sequence_mask([5, 3, 4])
    np.testing.assert_allclose(layer(X[:, :, tf.newaxis], mask=mask), layer(X, mask=mask))


@pytest.mark.slow
@pytest.mark.default_stack_only
@pytest.mark.parametrize(
    ("layer", "padding"),
    [
        pytest.param(ks.SoftRankLayer(), 0, marks=pytest.mark.nightly),
        pytest.param(ks.NeuralSortLayer(returns="values"), 0, marks=pytest.mark.nightly),
        (ks.SoftTopKLayer(2, returns="membership"), 0),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_mask_comes_through_dense(layer, padding):
    model = keras.Sequential([keras.Input((None, 3)), keras.layers.Masking(models.PAD), keras.layers.Dense(1), layer])
    x, _ = models.features()
    wide, _ = models.pad(x, np.zeros([6, 5]))
    found = model.predict(wide, verbose=0)
    np.testing.assert_allclose(found[:, :5], model.predict(x, verbose=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found[:, 5:], 0)


@pytest.mark.parametrize(
    ("tau", "residual"), [(1.0, 0.0), (0.1, 0.07), (0.05, 0.19), (0.01, 1.0)], ids=lambda value: f"{value:g}"
)
def test_rows_of_sinkhorn_as_the_temperature_falls(tau, residual):
    """The figures that the layer and the page on temperatures give, and their remedy."""
    logits = np.random.default_rng(0).normal(size=(20, 5, 5)).astype("float32")

    def largest(layer):
        layer.tau = tau
        return float(tf.reduce_max(abs(tf.reduce_sum(layer(logits), axis=-1) - 1)))

    np.testing.assert_allclose(largest(ks.SinkhornLayer()), residual, atol=0.006)
    assert largest(ks.SinkhornLayer(num_iterations=500, tolerance=0.01)) < 0.0101
