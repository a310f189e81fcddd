"""The table of `docs/guides/export-anywhere.md`: what LiteRT and ONNX run, with the numbers of Keras."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from support.models import IS_KERAS_3

import keras_softsort as ks
from keras_softsort import serving

keras = tf.keras
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/guides/export-anywhere.md"
FORMATS = ("LiteRT", "ONNX")
# Converting takes seconds, so every change tries one sort.
ALWAYS = ("`NeuralSortLayer`",)
needs_export = pytest.mark.skipif(not IS_KERAS_3, reason="Keras 2 has no model.export")
RNG = np.random.default_rng(0)


def numbers(*shape):
    return RNG.normal(size=shape).astype("float32")


def model_of(layer, x):
    """A model of this layer alone, of an unknown batch size, and its input."""
    inputs = keras.Input(x.shape[1:])
    return keras.Model(inputs, layer(inputs)), x


def nearest_neighbors(references, dimension):
    head = ks.KNNClassifier(k=3)
    head.set_references(numbers(references, dimension), RNG.integers(0, 3, references))
    return model_of(head, numbers(257, dimension))


def scored(layer, size=8, lists=5):
    return model_of(layer, numbers(lists, size))


MODELS = {
    "`NeuralSortLayer`": lambda: scored(ks.NeuralSortLayer(tau=0.5)),
    "`SoftSortLayer`": lambda: scored(ks.SoftSortLayer(tau=0.5), 300),
    "`SoftRankLayer`": lambda: scored(ks.SoftRankLayer(tau=0.5)),
    '`SoftRankLayer(method="projection")`': lambda: scored(ks.SoftRankLayer(tau=0.5, method="projection")),
    '`SoftRankLayer(method="lapsum")`': lambda: scored(ks.SoftRankLayer(tau=0.5, method="lapsum")),
    "`SoftTopKLayer`": lambda: scored(ks.SoftTopKLayer(3)),
    '`SoftTopKLayer(returns="membership")`': lambda: scored(ks.SoftTopKLayer(3, returns="membership")),
    '`SoftTopKLayer(returns="membership")` from 65 items on': lambda: scored(
        ks.SoftTopKLayer(3, returns="membership"), 65
    ),
    '`SoftTopKLayer(returns="membership", method="neural_sort")`': lambda: scored(
        ks.SoftTopKLayer(3, returns="membership", method="neural_sort")
    ),
    "`SoftQuantileLayer`": lambda: scored(ks.SoftQuantileLayer([0.3, 0.9]), 300),
    'values and ranks of `"neural_sort"` from 1,024 items on': lambda: scored(ks.SoftRankLayer(tau=0.5), 1024, 2),
    'values and ranks of `"soft_sort"` from 192 items on': lambda: scored(
        ks.SoftRankLayer(tau=0.5, method="soft_sort"), 192
    ),
    "`GumbelSoftmaxLayer`": lambda: scored(ks.GumbelSoftmaxLayer(0.5)),
    "`SinkhornLayer`": lambda: model_of(ks.SinkhornLayer(0.5), numbers(5, 4, 4)),
    "`SinkhornLayer(hard=True)`": lambda: model_of(ks.SinkhornLayer(0.5, hard=True), numbers(5, 4, 4)),
    "`SinkhornLayer(hard=True)` of more rows than columns": lambda: model_of(
        ks.SinkhornLayer(0.5, hard=True), numbers(5, 6, 4)
    ),
    "`KNNClassifier`": lambda: nearest_neighbors(20_000, 256),
}


def table():
    """The cells of the page for SavedModel, LiteRT and ONNX, by object."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return {cells[0]: dict(zip(("SavedModel", *FORMATS), cells[1:], strict=True)) for cells in rows[1:]}


def cases():
    for name, cells in table().items():
        for form in FORMATS:
            often = form == "ONNX" or name in ALWAYS
            yield pytest.param(name, form, cells[form], marks=[] if often else pytest.mark.nightly, id=f"{name}-{form}")


def run_lite(folder, request):
    """The outputs by name of the SavedModel in `folder`, converted to built-in operations of LiteRT."""
    converter = tf.lite.TFLiteConverter.from_saved_model(str(folder), signature_keys=["serving_default"])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    interpreter = tf.lite.Interpreter(model_content=converter.convert())
    return interpreter.get_signature_runner("serving_default")(**request)


def run_onnx(folder, request):
    """The outputs by name of the SavedModel in `folder`, converted to ONNX."""
    import onnxruntime

    path = f"{folder}.onnx"
    options = ("--saved-model", str(folder), "--signature_def", "serving_default", "--output", path)
    subprocess.run([sys.executable, "-m", "tf2onnx.convert", *options], check=True, capture_output=True)
    session = onnxruntime.InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, request), strict=True))


def exported(name, folder):
    """The object, exported to a SavedModel, and a request."""
    if name == "`serving.export_ranker`":
        layers = [keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((None, 3)), *layers])
        request = {"features": numbers(5, 7, 3), "sizes": np.array([7, 3, 0, 1, 5], "int32")}
        return serving.export_ranker(model, folder, top_k=2), request
    model, x = MODELS[name]()
    model.export(str(folder), verbose=False)
    (wanted,) = tf.saved_model.load(str(folder)).signatures["serving_default"].structured_input_signature[1]
    return folder, {wanted: x}


def test_every_model_has_a_row():
    assert set(table()) == {*MODELS, "`serving.export_ranker`"}
    assert {cells["SavedModel"] for cells in table().values()} == {"yes"}


@pytest.mark.slow
@needs_export
@pytest.mark.filterwarnings("ignore")  # the converters and TensorFlow's interpreter warn
@pytest.mark.parametrize(("name", "form", "cell"), list(cases()))
def test_the_table(name, form, cell, tmp_path):
    if form == "ONNX" and not all(importlib.util.find_spec(each) for each in ("onnxruntime", "tf2onnx")):
        pytest.skip("onnxruntime or tf2onnx is not installed")
    run = run_lite if form == "LiteRT" else run_onnx
    folder, request = exported(name, tmp_path / "model")
    signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
    if cell != "yes":
        with pytest.raises(Exception):  # noqa: B017, PT011 - each converter and interpreter has its own
            run(folder, request)
        return
    found = run(folder, request)
    for key, wanted in signature(**{key: tf.constant(value) for key, value in request.items()}).items():
        np.testing.assert_allclose(found[key], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.nightly
@needs_export
@pytest.mark.filterwarnings("ignore")  # the converters and TensorFlow's interpreter warn
def test_weights_in_int8(tmp_path):
    """Keras' int8 goes to ONNX and not to LiteRT, which has its own."""
    pytest.importorskip("onnxruntime")
    model, x = model_of(keras.layers.Dense(1), numbers(5, 8, 16))
    wanted = model.predict(x, verbose=0)
    model.export(str(tmp_path / "plain"), verbose=False)
    converter = tf.lite.TFLiteConverter.from_saved_model(str(tmp_path / "plain"))
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    runner = tf.lite.Interpreter(model_content=converter.convert()).get_signature_runner()
    (name,) = runner.get_input_details()
    (found,) = runner(**{name: x}).values()
    np.testing.assert_allclose(found, wanted, atol=0.05 * wanted.std())
    model.quantize("int8")
    wanted = model.predict(x, verbose=0)
    model.export(str(tmp_path / "int8"), verbose=False)
    (name,) = tf.saved_model.load(str(tmp_path / "int8")).signatures["serving_default"].structured_input_signature[1]
    (found,) = run_onnx(tmp_path / "int8", {name: x}).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    with pytest.raises(Exception, match=r"must be|failed"):
        run_lite(tmp_path / "int8", {name: x})
