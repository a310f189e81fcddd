"""The contract of every Keras object of the package, whatever it computes."""

import pathlib
import warnings

import numpy as np
import pytest
import tensorflow as tf
from support import models
from support.cases import objects
from support.cases.keras_case import LayerCase, LossCase
from support.processes import json_from

import keras_softsort as ks

pytestmark = pytest.mark.slow

keras = tf.keras
LAYERS, LOSSES = objects.needed(objects.LAYERS), objects.needed(objects.LOSSES)
layer_cases = pytest.mark.parametrize("case", LAYERS, ids=str)
# With a number by which the case is found in the outputs of a model of all.
each_layer = pytest.mark.parametrize("index", range(len(LAYERS)), ids=lambda i: str(LAYERS[i]))
# Classes that each run compiles by XLA: two layers with states, and a loss without.
COMPILED = {ks.NeuralSortLayer, ks.GumbelSoftmaxLayer, ks.PlackettLuceLoss}


def with_and_without_jit(cases):
    """Every class once, some of them compiled; the others, and their other arguments, with everything."""
    first = objects.first_of_class(cases)
    for case in cases:
        for jit_compile in (False, True):
            # Losses of lists make a step without a compiler in `test_padding_changes_no_training_step`.
            if isinstance(case, LayerCase):
                # `SinkhornLayer` runs the same iterations.
                needed = case.cls is not ks.GumbelSinkhornLayer if models.IS_KERAS_3 else case.cls in COMPILED
            else:
                needed = not case.subject.takes_lists
            quick = case in first and ((models.IS_KERAS_3 and case.cls in COMPILED) if jit_compile else needed)
            yield pytest.param(case, jit_compile, marks=[] if quick else [pytest.mark.nightly])


loss_cases = pytest.mark.parametrize("case", LOSSES, ids=str)
# Keras 2 writes all losses of a kind alike.
SAVED_LOSSES = LOSSES if models.IS_KERAS_3 or objects.EVERYTHING else [c for c in LOSSES if c.cls in objects.KINDS]

SAVED_METRICS = [case for case in objects.METRICS if not case.subject.takes_topics]
# The outputs of a model of all losses that metrics can take.
OF_MATRICES, OF_SCORES = (
    next(f"loss_{i}" for i, case in enumerate(SAVED_LOSSES) if case.subject.takes == takes)
    for takes in ("permutation", "scores")
)


def repeat_noise(case):
    """Draw the same numbers after each call, where any are drawn."""
    if case.draws_noise:
        tf.random.set_seed(0)


LOAD = """
import json, pathlib, sys
import numpy as np, tensorflow as tf
import keras_softsort
tf.config.run_functions_eagerly(True)  # as where the models were saved
sys.path.insert(0, sys.argv[2])
from support.cases import objects  # registers what stands before some layers
folder = pathlib.Path(sys.argv[1])
data = np.load(folder / "data.npz")
layers = tf.keras.models.load_model(folder / "layers.keras").predict(data["x"], verbose=0)
tf.random.set_seed(0)
compiled = tf.keras.models.load_model(folder / "compiled.keras")
labels = {name: data[name] for name in data.files if name.startswith("loss_")}
losses = compiled.evaluate(data["x"], labels, verbose=0, return_dict=True)
print(json.dumps([{name: value.tolist() for name, value in layers.items()}, losses]))
"""


@pytest.fixture(scope="module")
def reloaded(tmp_path_factory):
    """Results of a model of all layers and one of all losses, here and in a new process, op by op."""
    tf.config.run_functions_eagerly(True)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Even though the `tf.config.experimental_run_functions_eagerly`")
            return saved_and_loaded(tmp_path_factory)
    finally:
        tf.config.run_functions_eagerly(False)


def saved_and_loaded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    x, y = models.scores(4, 5), np.argsort(models.scores(4, 5, seed=8)).astype("float32") + 1
    labels = {f"loss_{i}": loss.labels(y) for i, loss in enumerate(SAVED_LOSSES)}
    np.savez(folder / "data.npz", x=x, **labels)
    layers = [case.layers() for case in LAYERS]
    model = model_of_all({f"layer_{i}": each for i, each in enumerate(layers)})
    for case, (*_, layer) in zip(LAYERS, layers, strict=True):
        case.set_tau(layer, 0.9)  # the present value must be saved, not the argument of the constructor
    model.save(folder / "layers.keras")
    layers = model.predict(x, verbose=0)
    losses = {f"loss_{i}": loss for i, loss in enumerate(SAVED_LOSSES)}
    model = model_of_all({name: loss.predictors() for name, loss in losses.items()})
    model.compile(
        "sgd",
        loss={name: loss.make() for name, loss in losses.items()},
        metrics={
            OF_MATRICES: [case.make() for case in SAVED_METRICS if case.subject.takes_matrices],
            OF_SCORES: [case.make() for case in SAVED_METRICS if not case.subject.takes_matrices],
        },
    )
    tf.random.set_seed(0)
    evaluated = model.evaluate(x, labels, verbose=0, return_dict=True)
    model.save(folder / "compiled.keras")
    return (layers, evaluated), json_from(LOAD, folder, pathlib.Path(__file__).parent)


def model_of_all(branches, *, head=(), inputs=(None,)):
    """One model of scores, or of what `head` makes scores of, with an output of each name, made by its layers."""
    start, outputs = keras.Input(inputs), {}
    scores = start
    for layer in head:
        scores = layer(scores)
    for name, layers in branches.items():
        made = scores
        for layer in layers:
            made = layer(made)
        outputs[name] = keras.layers.Activation("linear", name=name)(made)
    return keras.Model(start, outputs)


def branches():
    """New layers of every case by the name of their output."""
    return {f"layer_{i}": case.layers() for i, case in enumerate(LAYERS)}


@each_layer
def test_layer_in_a_keras_file(reloaded, index):
    (here, _), (there, _) = reloaded
    np.testing.assert_allclose(there[f"layer_{index}"], here[f"layer_{index}"], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("index", range(len(SAVED_LOSSES)), ids=lambda i: str(SAVED_LOSSES[i]))
def test_loss_in_a_keras_file(reloaded, index):
    (_, here), (_, there) = reloaded
    assert there[f"loss_{index}_loss"] == pytest.approx(here[f"loss_{index}_loss"], rel=1e-6)


@pytest.mark.parametrize("name", [case.arguments["name"] for case in SAVED_METRICS])
def test_metric_in_a_keras_file(reloaded, name):
    # Keras 2 puts the name of the output before the metric's name once more when it loads it.
    here, there = (next(value for key, value in found[1].items() if key.endswith(name)) for found in reloaded)
    assert there == pytest.approx(here, rel=1e-6)


@pytest.mark.parametrize(("case", "jit_compile"), [*with_and_without_jit(LAYERS)], ids=str)
def test_fit(case, jit_compile):
    x, y = models.features()
    if case.gives_permutation:
        direction = case.arguments.get("direction", "DESCENDING")
        loss, target = ks.PermutationCrossEntropyLoss(direction=direction), y
    else:
        loss, target = models.squares, np.zeros((6, 1), "float32")
    losses = fitted(case.layers(), loss, x, target, jit_compile)
    check_improvement(case, losses)


@pytest.mark.parametrize(("case", "jit_compile"), [*with_and_without_jit(LOSSES)], ids=str)
def test_fit_a_loss(case, jit_compile):
    x, y = models.features()
    losses = fitted(case.predictors(), case.make(), x, case.labels(y), jit_compile)
    check_improvement(case, losses)


def check_improvement(case, losses):
    assert case.may_not_improve or losses[-1] < losses[0], (
        f"{case} must lower its loss in {len(losses)} steps, but it went from {losses[0]} to {losses[-1]}. "
        f"Set `draws_noise` of its case if it trains on noise, or `draws_noise_with` for these arguments"
    )


def fitted(layers, loss, x, y, jit_compile):
    """The losses of a few steps, which are finite and change the weights."""
    model = models.features_model("functional", *layers)
    model.compile(keras.optimizers.Adam(0.05), loss=loss, jit_compile=jit_compile)
    before = [weight.copy() for weight in model.get_weights()]
    losses = model.fit(x, y, epochs=6, batch_size=6, verbose=0).history["loss"]
    assert np.all(np.isfinite(losses))
    assert max(np.max(np.abs(now - then)) for now, then in zip(model.get_weights(), before, strict=True)) > 1e-3
    return losses


@pytest.mark.parametrize(("policy", "atol"), [("mixed_float16", 1e-2), ("mixed_bfloat16", 8e-2)])
@layer_cases
def test_mixed_precision(case, policy, atol):
    # Scores that both half types hold exactly, well apart: only the result is rounded.
    x = np.float32([[0.5, -1.0, 2.0, 1.25, -0.25], [1.5, 0.75, -2.0, 0.25, -1.25]])
    layer = case.make(dtype=policy)
    result = layer(case.inputs(x))
    assert tf.as_dtype(result.dtype).name == policy.removeprefix("mixed_")
    assert tf.as_dtype(layer.tau.dtype) == tf.float32
    # 0.7 is no half-precision number: a temperature that went through one would show here.
    assert float(layer.tau) == pytest.approx(case.arguments["tau"], rel=2e-7)
    np.testing.assert_allclose(tf.cast(result, tf.float32), case.make()(case.inputs(x)), rtol=atol, atol=atol)


@pytest.mark.default_stack_only
@pytest.mark.parametrize("dtype", ["float16", pytest.param("bfloat16", marks=pytest.mark.nightly)])
@loss_cases
def test_loss_of_half_precision(case, dtype):
    x, y = models.features()
    prediction = tf.cast(models.features_model("functional", *case.predictors())(x), dtype)
    y = case.labels(y)
    repeat_noise(case)
    value = case.make()(y, prediction)
    assert value.dtype == tf.float32
    repeat_noise(case)
    np.testing.assert_allclose(value, case.make()(y, tf.cast(prediction, tf.float32)), rtol=1e-6)


@layer_cases
def test_float64(case):
    x = models.scores().astype("float64")
    layer = case.make(dtype="float64")
    result = layer(case.inputs(x))
    assert tf.as_dtype(result.dtype) == tf.as_dtype(layer.tau.dtype) == tf.float64
    assert float(layer.tau) == pytest.approx(case.arguments["tau"], rel=1e-15)
    np.testing.assert_allclose(result, case.make()(case.inputs(x.astype("float32"))), rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def of_any_size():
    """The shapes that a model of all layers states, and the model as one trace of unknown sizes."""
    model = model_of_all({"scores": [], **branches()}, head=models.head(), inputs=(None, 3))
    shapes = {name: tuple(output.shape) for name, output in model.output.items()}
    return shapes, tf.function(lambda x: model(x, training=False), [tf.TensorSpec([None, None, 3])], autograph=False)


@pytest.fixture(scope="module")
def of_two_sizes(of_any_size):
    return [of_any_size[1](models.features(*shape)[0]) for shape in [(1, 3), (3, 5)]]


@each_layer
def test_unknown_sizes(of_any_size, of_two_sizes, index):
    case, name = LAYERS[index], f"layer_{index}"
    shape = of_any_size[0][name]
    assert shape[0] is None
    for results in of_two_sizes:
        result = results[name]
        assert all(known in (None, size) for known, size in zip(shape, result.shape, strict=True))
        np.testing.assert_allclose(result, case.make()(case.inputs(results["scores"])), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", [*objects.LAYERS, *objects.OTHER_LAYERS], ids=str)
def test_output_shape(case):
    """The shape that a layer states is the shape of its result. An unknown batch size stays unknown."""
    layer = case.make()
    inputs = case.inputs(tf.constant(models.scores(4, 5)))
    found = tf.nest.map_structure(lambda each: models.Shape(each.shape), layer(inputs))
    for given in (tuple, tf.TensorShape):  # Keras 2 passes either
        stated = layer.compute_output_shape(tf.nest.map_structure(lambda each, given=given: given(each.shape), inputs))
        assert stated == found
    unknown = layer.compute_output_shape(
        tf.nest.map_structure(lambda each: models.Shape((None, *each.shape[1:])), inputs)
    )
    for shape in unknown.values() if isinstance(unknown, dict) else [unknown]:
        assert isinstance(shape, models.Shape)
        assert shape[0] is None


@layer_cases
def test_deterministic_at_inference(case):
    layer, x = case.make(), case.inputs(models.scores())
    layer(x)
    before = [weight.numpy() for weight in layer.weights]
    np.testing.assert_array_equal(layer(x), layer(x, training=False))
    for weight, state in zip(layer.weights, before, strict=True):
        np.testing.assert_array_equal(weight, state)


@pytest.fixture(scope="module")
def narrow_and_wide(of_any_size):
    """Results of a model of all layers for lists, and for the same lists with padding."""
    x, y = models.features()
    return [of_any_size[1](each) for each in (x, models.pad(x, y)[0])]


@each_layer
def test_padding_changes_no_output(narrow_and_wide, index):
    narrow, wide = (results[f"layer_{index}"].numpy() for results in narrow_and_wide)
    np.testing.assert_allclose(wide[tuple(map(slice, narrow.shape))], narrow, rtol=1e-5, atol=1e-6)


# Name -> the case, the layers that predict, and the loss that takes the prediction.
TRAINED = {
    **{str(case): (case, case.layers, ks.PermutationCrossEntropyLoss) for case in LAYERS if case.gives_permutation},
    **{str(case): (case, case.predictors, case.make) for case in LOSSES if case.subject.takes_lists},
}
# One of each kind; the tests of a loss know what padding does to it.
KINDS = {ks.NeuralSortLayer, ks.RankNetLoss}
if models.IS_KERAS_3:
    KINDS |= {ks.PermutationCrossEntropyLoss, ks.PlackettLuceLoss, ks.PLRankLoss}
QUICK = [str(case) for case in [objects.LAYERS[0], *objects.first_of_class(LOSSES)] if case.cls in KINDS]


# The way a model is written affects how masks travel, not how layers use them.
WAYS = [
    *(pytest.param(name, "functional", marks=[] if name in QUICK else [pytest.mark.nightly]) for name in TRAINED),
    *((next(iter(TRAINED)), way) for way in ("sequential", "subclassed")),
]


@pytest.mark.parametrize(("name", "way"), WAYS)
def test_padding_changes_no_training_step(name, way):
    case, layers, loss = TRAINED[name]
    x, y = models.features()
    x[0, -2:], y[0, -2:] = models.PAD, 0.1  # the Keras mask alone says that these are padding
    y[1, -1] = -1  # the label alone says so here
    outcomes = []
    for inputs, labels in [(x, y), models.pad(x, y)]:
        model = models.features_model(way, *layers())
        # Several logits per item are no scores to measure the order of.
        of_logits = isinstance(case, LossCase) and case.subject.takes == "logits"
        metrics = [] if of_logits else [ks.PermutationAccuracy(), ks.ElementwiseAccuracy()]
        model.compile(keras.optimizers.SGD(1.0), loss=loss(), weighted_metrics=metrics)
        model(inputs)  # which makes the weights of a subclassed model
        before = np.concatenate([weight.ravel() for weight in model.get_weights()])
        repeat_noise(case)
        logs = model.train_on_batch(inputs, labels, return_dict=True)
        outcomes.append([*logs.values(), *np.concatenate([weight.ravel() for weight in model.get_weights()])])
        assert np.max(np.abs(outcomes[-1][-len(before) :] - before)) > 1e-4
    np.testing.assert_allclose(outcomes[1], outcomes[0], rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def masked_in_the_call():
    """Results for padded scores of a model that hands a mask to all layers."""
    scores, mask = keras.Input((None,)), keras.Input((None,), dtype="bool")
    outputs = {}
    for i, case in enumerate(LAYERS):
        inputs = case.adapter()(scores) if case.adapter else scores
        outputs[f"layer_{i}"] = case.make()(inputs, mask=case.mask(mask))
    model = tf.function(keras.Model([scores, mask], outputs), autograph=False)
    x = np.pad(models.scores(), [(0, 0), (0, 3)], constant_values=50)
    return model([x, np.tile(np.arange(8) < 5, [4, 1])])


@pytest.mark.default_stack_only
@each_layer
def test_mask_given_in_the_call(masked_in_the_call, index):
    case, wide = LAYERS[index], masked_in_the_call[f"layer_{index}"].numpy()
    narrow = case.make()(case.inputs(models.scores())).numpy()
    np.testing.assert_allclose(wide[tuple(map(slice, narrow.shape))], narrow, rtol=1e-5, atol=1e-6)
