"""Scorers as plain Keras models: padding and the order of a list are nothing to them, trained, saved or exported."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks
from keras_softsort import serving

keras = tf.keras
SPECS = {"price": tf.io.FixedLenFeature([], tf.int64), "image": tf.io.FixedLenFeature([2], tf.float32)}
CONTEXT = {"hour": tf.io.FixedLenFeature([1], tf.float32), "user": tf.io.FixedLenFeature([3], tf.float32)}
SIZES = np.int32([3, 5, 1])


def attention():
    return ks.DocumentInteractionAttention(2, 8, dropout=0.0)


def normalization():
    return keras.layers.Normalization(mean=[0.5, -0.5, 2.0], variance=[1.0, 4.0, 2.0])


SCORERS = {
    "dnn": lambda: ks.models.dnn_scorer(3, hidden_units=[8], input_normalization=normalization()),
    "dnn-masked": lambda: ks.models.dnn_scorer(3, batch_norm=0.9, input_normalization="batch", mask_name="mask"),
    "dnn-attention": lambda: ks.models.dnn_scorer(SPECS, CONTEXT, attention=attention(), mask_name="mask"),
    "gam": lambda: ks.models.gam_scorer(3),
    "gam-masked": lambda: ks.models.gam_scorer(
        SPECS, CONTEXT, activation="tanh", batch_norm=0.9, input_normalization="batch", mask_name="mask"
    ),
}
each_scorer = pytest.mark.parametrize("name", SCORERS)


def request(model, n=5, seed=0):
    """Inputs of `model`: 3 lists of up to 5 items in n places, with NaN for padding if it takes a mask."""
    random = np.random.default_rng(seed)
    shapes = {"features": (3, 5, 3), "price": (3, 5), "image": (3, 5, 2), "hour": (3, 1), "user": (3, 3)}
    values = {name: random.normal(size=shape).astype("float32") for name, shape in shapes.items()}
    values["price"] = random.integers(1, 9, size=(3, 5))
    mask = np.arange(n) < SIZES[:, np.newaxis]
    for name in ("features", "price", "image"):
        wide = np.zeros([3, n, *shapes[name][2:]], values[name].dtype)
        wide[:, :5] = values[name]
        wide[~mask] = np.nan if wide.dtype == np.float32 and "masked" in model.name else 0
        values[name] = wide
    values["mask"] = mask
    return {each: values[each] for each in model.input} if isinstance(model.input, dict) else values["features"]


def made(name):
    keras.utils.set_random_seed(3)
    model = SCORERS[name]()
    model._name = name  # `request` reads it
    return model


def taken(inputs, items):
    """The lists with only the items `items`."""
    if not isinstance(inputs, dict):
        return inputs[:, items]
    return {name: value if name in CONTEXT else value[:, items] for name, value in inputs.items()}


@pytest.mark.default_stack_only
@each_scorer
def test_order_of_the_items_is_irrelevant(name):
    model, order = made(name), np.array([3, 0, 4, 2, 1])
    inputs = request(model)
    scores, mask = model(inputs).numpy(), np.arange(5) < SIZES[:, np.newaxis]
    shuffled = model(taken(inputs, order)).numpy()
    np.testing.assert_allclose(shuffled[mask[:, order]], scores[:, order][mask[:, order]], rtol=1e-4, atol=1e-5)
    assert np.std(scores[mask]) > 1e-3


@pytest.mark.slow
@each_scorer
def test_padding_changes_no_training_step(name):
    outcomes = []
    for n in (5, 8):
        model, mask = made(name), np.arange(n) < SIZES[:, np.newaxis]
        with tf.GradientTape() as tape:
            scores = model(request(model, n), training=True)
            costs = tf.where(mask, tf.sin(3 * scores), tf.zeros_like(scores))
        gradients = tape.gradient(costs, model.trainable_weights)
        moving = [weight for weight in model.non_trainable_weights if "moving" in weight.name]
        outcomes.append(np.concatenate([np.ravel(each) for each in (costs[:, :5], *gradients, *moving)]))
    assert np.all(np.isfinite(outcomes))
    np.testing.assert_allclose(outcomes[1], outcomes[0], rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dnn", "dnn-attention", "gam-masked"])
def test_an_exported_scorer_knows_the_sizes(name, tmp_path):
    model = made(name)
    inputs = request(model)
    mask_name = "mask" if isinstance(inputs, dict) else None
    folder = serving.export_ranker(model, tmp_path / "ranker", mask_name=mask_name, item_ids=None)
    asked = {**inputs} if mask_name else {"features": inputs}
    asked.pop("mask", None)
    served = tf.saved_model.load(str(folder)).signatures["serving_default"]
    answer = served(**{each: tf.constant(value) for each, value in asked.items()}, sizes=tf.constant(SIZES))
    for i, size in enumerate(SIZES):
        alone = {each: value[i : i + 1] for each, value in inputs.items()} if mask_name else inputs[i : i + 1]
        wanted = model(taken(alone, np.arange(size))).numpy()[0]
        np.testing.assert_allclose(answer["scores"][i, :size], wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(answer["order"][i, :size], np.argsort(-wanted, kind="stable"))
        assert np.all(answer["order"][i, size:].numpy() == -1)


@pytest.mark.slow
@each_scorer
def test_a_saved_scorer(name, tmp_path):
    model = made(name)
    model.save(tmp_path / "scorer.keras")
    again = keras.models.load_model(tmp_path / "scorer.keras")
    np.testing.assert_allclose(again(request(model)), model(request(model)), rtol=1e-6, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gam", "gam-masked"])
def test_contributions_of_features(name):
    model = made(name)
    layers = keras.Model(model.input, model.get_layer("contributions").output)
    inputs = request(model)
    contributions, mask = layers(inputs).numpy(), np.arange(5) < SIZES[:, np.newaxis]
    assert contributions.shape == (3, 5, 3)
    np.testing.assert_allclose(contributions.sum(-1)[mask], model(inputs).numpy()[mask], rtol=1e-4, atol=1e-5)
    changed = {**inputs, "price": inputs["price"] + 1} if isinstance(inputs, dict) else inputs + np.float32([1, 0, 0])
    column = 2 if isinstance(inputs, dict) else 0  # features are in the order of their names
    moved = np.abs(layers(changed).numpy() - contributions)[mask].max(axis=0)
    assert moved[column] > 1e-4
    assert np.all(np.delete(moved, column) == 0)


@pytest.mark.slow
def test_context_weighs_contributions():
    model = made("gam-masked")
    inputs = request(model)
    inputs = {**inputs, "hour": inputs["hour"][:1].repeat(3, 0), "user": inputs["user"][:1].repeat(3, 0)}
    layers = keras.Model(model.input, model.get_layer("contributions").output)
    mask = inputs["mask"]
    ratio = layers({**inputs, "hour": inputs["hour"] + 1}).numpy()[mask] / layers(inputs).numpy()[mask]
    np.testing.assert_allclose(ratio, np.broadcast_to(ratio[0], ratio.shape), rtol=1e-3)  # one weight per feature
    assert np.abs(ratio[0] - 1).max() > 1e-3


@pytest.mark.default_stack_only
@pytest.mark.parametrize("make", [ks.models.dnn_scorer, ks.models.gam_scorer], ids=lambda make: make.__name__)
def test_options_of_scorers(make):
    model = make(3, hidden_units=[7, 5], activation="tanh", dropout=0.3, batch_norm=0.8, mask_name="mask", name="mine")

    def layers(kind):
        return [layer for layer in model.layers if isinstance(layer, kind)]

    assert model.name == "mine"
    assert [layer.rate for layer in layers(keras.layers.Dropout)] == [0.3, 0.3]
    assert [layer.momentum for layer in layers(keras.layers.BatchNormalization)] == [0.8, 0.8]
    activations = [layer.get_config()["activation"] for layer in layers(keras.layers.Activation)]
    assert activations.count("tanh") == 2
    hidden = [layer.kernel.shape[-1] for layer in model.layers if hasattr(layer, "kernel")]
    assert hidden[:2] == [7, 5]
    assert {layer.name for layer in make(3).layers}.isdisjoint({"dropout", "batch_normalization"})


@pytest.mark.default_stack_only
def test_networks_of_features_start_like_dense_layers():
    model = ks.models.gam_scorer(50, hidden_units=[200])
    (first, *_) = [weight for weight in model.weights if len(weight.shape) == 3]
    single = keras.initializers.GlorotUniform(seed=1)((1, 200))
    np.testing.assert_allclose(np.std(first), np.std(single), rtol=0.1)


TEXT = {"text": tf.io.FixedLenFeature([1], tf.string)}


@pytest.mark.default_stack_only
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"example_features": 0}, ValueError, "example_features must be at least 1, got 0"),
        ({"example_features": {}}, ValueError, "example_features must hold at least one feature, got none"),
        ({"example_features": TEXT}, ValueError, "example_features must be numbers of known shapes, got 'text'"),
        ({"example_features": {"a": 3}}, TypeError, "example_features must hold values with a shape and a dtype"),
        ({"context_features": 3}, TypeError, "context_features must be a dictionary of features by name, got 3"),
        (
            {"context_features": {"price": tf.io.FixedLenFeature([], tf.float32)}},
            ValueError,
            r"context_features must have shape \[d\], which is \[1\] for one number, got 'price' of shape \[\]",
        ),
        ({"context_features": {"price": SPECS["image"]}}, ValueError, "must have distinct names"),
        ({"mask_name": "price"}, ValueError, r"must have distinct names, got \['image', 'price', 'price'\]"),
        ({"hidden_units": [4, 0]}, ValueError, "hidden_units must be at least 1, got 0"),
        ({"dropout": 1.0}, ValueError, "dropout must be at least 0 and below 1, got 1.0"),
        ({"batch_norm": True}, TypeError, "batch_norm must be a number, got True"),
        ({"input_normalization": "layer"}, ValueError, r"input_normalization must be one of \['batch'\], got 'layer'"),
    ],
)
@pytest.mark.parametrize("make", [ks.models.dnn_scorer, ks.models.gam_scorer], ids=lambda make: make.__name__)
def test_errors_of_scorers(make, options, error, message):
    with pytest.raises(error, match=message):
        make(**{"example_features": SPECS, **options})


@pytest.mark.default_stack_only
def test_errors_of_one_scorer():
    with pytest.raises(ValueError, match="mask_name must be given with attention"):
        ks.models.dnn_scorer(3, attention=attention())
    with pytest.raises(TypeError, match="attention must be a DocumentInteractionAttention, got Dense"):
        ks.models.dnn_scorer(3, attention=keras.layers.Dense(3), mask_name="mask")
    with pytest.raises(ValueError, match="hidden_units must hold at least one size, got none"):
        ks.models.gam_scorer(3, hidden_units=())
    with pytest.raises(ValueError, match="input_normalization must return 3 features, as many as it gets, got 2"):
        ks.models.gam_scorer(3, input_normalization=keras.layers.Dense(2))


# A model of TF-Ranking that its `DNNScorer` made, and its scores of `tf_ranking_inputs`.
TF_RANKING = Path(__file__).parents[1] / "support" / "data" / "tf_ranking_dnn"
TF_RANKING_SCORES = [
    [9.02128, 3.89421, 12.47013],
    [3.11355, 9.12413, 8.9571, 2.85879, 5.37033],
    [9.97218],
    [2.9199, 4.71871, 3.09381, 10.677],
]


def tf_ranking_inputs():
    random = np.random.default_rng(0)
    price, image, hour = (random.normal(size=shape).astype("float32") for shape in ([4, 5, 1], [4, 5, 2], [4, 1]))
    mask = np.arange(5) < np.array([3, 5, 1, 4])[:, np.newaxis]
    return {"price": price, "image": image, "hour": hour, "mask": mask}


def tf_ranking_scorer(**options):
    number, pair = (tf.io.FixedLenFeature([size], tf.float32) for size in (1, 2))
    options = {"hidden_units": [6, 4], "batch_norm": 0.9, "mask_name": "mask", **options}
    return ks.models.dnn_scorer({"price": number, "image": pair}, {"hour": number}, **options)


def test_weights_of_tf_ranking():
    model, inputs = tf_ranking_scorer(), tf_ranking_inputs()
    ks.models.load_tf_ranking_weights(model, TF_RANKING)
    np.testing.assert_allclose(model(inputs)[inputs["mask"]], np.concatenate(TF_RANKING_SCORES), rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "folder", "message"),
    [
        ({}, "nowhere", "saved_model must be the folder of a SavedModel, got 'nowhere'"),
        ({"batch_norm": None}, TF_RANKING, "saved_model must hold 6 weights as model does, got 14"),
        ({"hidden_units": [6, 5]}, TF_RANKING, r"shapes of model's weights, \(6, 5\) for weight 6, .*got \(6, 4\)"),
    ],
)
def test_weights_that_do_not_fit(options, folder, message):
    with pytest.raises(ValueError, match=message):
        ks.models.load_tf_ranking_weights(tf_ranking_scorer(**options), folder)
