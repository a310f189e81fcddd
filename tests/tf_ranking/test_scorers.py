"""Scorers beside those of TF-Ranking: with the same weights the same scores, of tensors and of serialized records."""

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks
from keras_softsort import serving

tfr = pytest.importorskip("tensorflow_ranking")
keras = tf.keras
EXAMPLE = {
    "price": tf.io.FixedLenFeature([1], tf.float32, default_value=[0.0]),
    "image": tf.io.FixedLenFeature([2], tf.float32, default_value=[0.0, 0.0]),
}
CONTEXT = {"hour": tf.io.FixedLenFeature([1], tf.float32, default_value=[0.0])}
SIZES = np.array([3, 5, 1, 4])
MASK = np.arange(5) < SIZES[:, np.newaxis]


def model_of(scorer, context):
    inputs = tfr.keras.model.FeatureSpecInputCreator(context, EXAMPLE)
    preprocessor = tfr.keras.model.PreprocessorWithSpec()
    return tfr.keras.model.ModelBuilder(inputs, preprocessor, scorer, mask_feature_name="mask").build()


def inputs_of(context, seed=0):
    random = np.random.default_rng(seed)
    items = {name: random.normal(size=(4, 5, *spec.shape)).astype("float32") for name, spec in EXAMPLE.items()}
    lists = {name: random.normal(size=(4, *spec.shape)).astype("float32") for name, spec in context.items()}
    return {**items, **lists, "mask": MASK}


def with_same_weights(theirs, ours):
    """Both models with random weights, in which no moving variance is negative."""
    random = np.random.default_rng(1)
    weights = [random.uniform(0.1, 1, size=weight.shape) for weight in theirs.get_weights()]
    theirs.set_weights(weights)
    ours.set_weights(weights)


def dnn():
    options = {"activation": "relu", "dropout": 0.2}
    scorer = tfr.keras.model.DNNScorer(
        hidden_layer_dims=[6, 4], output_units=1, use_batch_norm=True, batch_norm_moment=0.9, **options
    )
    theirs = model_of(scorer, CONTEXT)
    ours = ks.models.dnn_scorer(EXAMPLE, CONTEXT, hidden_units=[6, 4], batch_norm=0.9, mask_name="mask", **options)
    with_same_weights(theirs, ours)
    return theirs, ours


def test_a_dnn_scorer_has_the_scores_of_tf_ranking():
    theirs, ours = dnn()
    inputs = inputs_of(CONTEXT)
    np.testing.assert_allclose(ours(inputs)[MASK], theirs(inputs)[MASK], rtol=1e-5, atol=1e-5)


def test_exported_models_answer_the_same_requests(tmp_path):
    theirs, ours = dnn()
    inputs = inputs_of(CONTEXT)
    records = [record(inputs, i) for i in range(4)]
    signature = tfr.keras.saved_model.Signatures(
        theirs, context_feature_spec=CONTEXT, example_feature_spec=EXAMPLE, mask_feature_name="mask"
    )
    theirs.save(tmp_path / "theirs", signatures=signature())
    others = [np.zeros(weight.shape) for weight in ours.get_weights()]
    ours.set_weights(others)
    ks.models.load_tf_ranking_weights(ours, tmp_path / "theirs")
    serialized = tf.constant(records)
    loaded = tf.saved_model.load(str(tmp_path / "theirs"))
    (expected,) = loaded.signatures["tensorflow/serving/predict"](serialized).values()
    folder = serving.export_ranker(
        ours, tmp_path / "ours", mask_name="mask", example_features=EXAMPLE, context_features=CONTEXT
    )
    found = tf.saved_model.load(str(folder)).signatures["elwc"](serialized=serialized)["scores"]
    np.testing.assert_allclose(found[MASK], expected[MASK], rtol=1e-5, atol=1e-5)
    singles = tf.constant([single(inputs, i, j) for i, j in np.argwhere(MASK)])
    wanted = loaded.signatures[tf.saved_model.REGRESS_METHOD_NAME](singles)[tf.saved_model.REGRESS_OUTPUTS]
    found = tf.saved_model.load(str(folder)).signatures["regress"](inputs=singles)["outputs"]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def single(inputs, i, j):
    """Item j of list i as a serialized `tf.train.Example`."""
    values = {**{name: inputs[name][i, j] for name in EXAMPLE}, **{name: inputs[name][i] for name in CONTEXT}}
    features = {
        name: tf.train.Feature(float_list=tf.train.FloatList(value=np.ravel(value))) for name, value in values.items()
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def record(inputs, i):
    """List i as a serialized `ExampleListWithContext`."""
    from tensorflow_serving.apis import input_pb2

    def example(values):
        features = {
            name: tf.train.Feature(float_list=tf.train.FloatList(value=np.ravel(value)))
            for name, value in values.items()
        }
        return tf.train.Example(features=tf.train.Features(feature=features))

    items = [example({name: inputs[name][i, j] for name in EXAMPLE}) for j in range(SIZES[i])]
    context = example({name: inputs[name][i] for name in CONTEXT})
    return input_pb2.ExampleListWithContext(context=context, examples=items).SerializeToString()


def test_attention_has_the_values_of_tf_ranking():
    theirs = tfr.keras.layers.DocumentInteractionAttention(2, 4, num_layers=2, dropout=0.2)
    ours = ks.DocumentInteractionAttention(2, 4, num_layers=2, dropout=0.2)
    features = inputs_of({})["image"]
    theirs((features, tf.constant(MASK)), training=False)
    ours(features)
    random = np.random.default_rng(1)
    pairs = [(theirs._input_projection, ours._projection)]
    for (attention, _, norm), mine, my_norm in zip(
        theirs._attention_layers, ours._attentions, ours._norms, strict=True
    ):
        pairs += [(attention, mine), (norm, my_norm)]
    for source, target in pairs:
        source.set_weights([random.normal(size=weight.shape) for weight in source.get_weights()])
        target.set_weights(source.get_weights())
    expected = theirs((features, tf.constant(MASK)), training=False).numpy()
    np.testing.assert_allclose(ours(features, mask=MASK)[MASK], expected[MASK], rtol=1e-4, atol=1e-4)


def test_a_gam_scorer_has_the_scores_of_tf_ranking():
    """The scores of features that are single numbers, each with a network in either package."""
    example = {name: tf.io.FixedLenFeature([1], tf.float32) for name in ("a", "b", "c")}
    random = np.random.default_rng(2)
    features = {name: random.normal(size=(4, 5, 1)).astype("float32") for name in example}
    hour = random.normal(size=(4, 1)).astype("float32")
    options = {"activation": "tanh", "use_batch_norm": False, "dropout": 0.0}
    theirs = tfr.keras.layers.GAMLayer(3, [4, 2], 1, [4, 2], **options)
    flat = [np.reshape(each, [20, 1]) for each in features.values()]
    theirs((flat, [np.repeat(hour, 5, axis=0)]), training=False)
    ours = ks.models.gam_scorer(
        example, {"hour": tf.io.FixedLenFeature([1], tf.float32)}, hidden_units=[4, 2], activation="tanh"
    )
    towers = [tower.get_weights() for tower in theirs._example_towers]
    stacked = [np.stack(parts) for parts in zip(*towers, strict=True)]
    parallel = [layer for layer in ours.layers if isinstance(layer, keras.layers.EinsumDense)]
    for layer, kernel, bias in zip(parallel, stacked[::2], stacked[1::2], strict=True):
        layer.set_weights([kernel, bias])
    (tower,) = theirs._context_towers
    dense = [layer for layer in ours.layers if isinstance(layer, keras.layers.Dense)]
    for layer, kernel, bias in zip(dense, tower.get_weights()[::2], tower.get_weights()[1::2], strict=True):
        layer.set_weights([kernel, bias])
    expected, _, _ = theirs((flat, [np.repeat(hour, 5, axis=0)]), training=False)
    found = ours({**features, "hour": hour})
    np.testing.assert_allclose(found, np.reshape(expected, [4, 5]), rtol=1e-5, atol=1e-6)
