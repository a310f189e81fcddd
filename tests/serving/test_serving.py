"""Exported rankers, up the ladder that needs no server: command line, the C API, the C API without XLA."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from support import models
from support.data import rankers
from support.predict_offline import SCRIPT, c_api_library, predict_offline
from tensorflow.core.protobuf import saved_model_pb2

import keras_softsort as ks
from keras_softsort import serving
from keras_softsort.serving._saved_model import signature as read_signature

keras = tf.keras
TOP_K = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    base = tmp_path_factory.mktemp("models") / "by names"  # a blank in the name, for the shell
    return serving.export_ranker(rankers.of_names(), base, mask_name="mask", top_k=TOP_K)


def asked(ids=True, **options):
    """A request, the signature for it, and what should come."""
    request = rankers.request(**options)
    if not ids:
        del request["item_ids"]
    return request, "with_ids" if ids else "serving_default", rankers.expected(**request, top_k=TOP_K)


@pytest.mark.nightly
def test_a_saved_model_cli_runs_it(folder, tmp_path):
    request, signature, wanted = asked(ids=False)  # it reads no strings
    np.savez(tmp_path / "request.npz", **request)
    inputs = ";".join(f"{name}={tmp_path}/request.npz[{name}]" for name in request)
    command = [sys.executable, "-m", "tensorflow.python.tools.saved_model_cli", "run", "--dir", str(folder)]
    command += ["--tag_set", "serve", "--signature_def", signature, "--inputs", inputs, "--outdir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    rankers.assert_same({name: np.load(tmp_path / f"{name}.npy") for name in wanted}, wanted)


RUN_AND_TELL = """
import runpy, sys
script = sys.argv.pop(1)
runpy.run_path(script, run_name="__main__")
print("modules:", *sorted({name.split(".")[0] for name in sys.modules}), file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.default_stack_only
def test_b_the_c_api_runs_it_without_python_tensorflow(folder):
    request, signature, wanted = asked()
    command = [sys.executable, "-c", RUN_AND_TELL, str(SCRIPT), c_api_library(), str(folder)]
    found = read_signature(folder, signature)
    fed = {found.inputs[name].name: array for name, array in request.items()}
    questions = pickle.dumps([(fed, [output.name for output in found.outputs.values()])])
    done = subprocess.run(command, input=questions, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    ((outputs, _),) = pickle.loads(done.stdout)
    rankers.assert_same(dict(zip(found.outputs, outputs, strict=True)), wanted)
    modules = set(done.stderr.decode().rsplit("modules:", 1)[1].split())
    assert {"numpy", "ctypes"} <= modules
    assert modules & {"tensorflow", "keras", "tf_keras", "keras_softsort", "google"} == set()


@pytest.mark.default_stack_only
@pytest.mark.slow
def test_c_the_c_api_runs_it_with_xla_forbidden(folder):
    """The C API also answers every kind of request that the documentation mentions."""
    garbage = asked()[0]
    for i, size in enumerate(garbage["sizes"]):
        garbage["documents"][i, size:] = np.nan
    repeated = rankers.request()  # the padding of a server that joins requests of different lengths
    for i, size in enumerate(repeated["sizes"]):
        repeated["documents"][i, size:] = repeated["documents"][i, 0]
        repeated["item_ids"][i, size:] = repeated["item_ids"][i, 0]
    wider = {**rankers.request(), "documents": np.pad(garbage["documents"], [(0, 0), (0, 2), (0, 0)])}
    wider["item_ids"] = np.pad(rankers.request()["item_ids"], [(0, 0), (0, 2)], constant_values=b"x")
    requests = [rankers.request(), garbage, repeated, wider, rankers.request([2], 2), rankers.request([1, 1], 1)]
    answers = predict_offline(folder, requests, signature_name="with_ids")
    for request, answer in zip(requests, answers, strict=True):
        rankers.assert_same(answer.outputs, rankers.expected(**request, top_k=TOP_K))
        assert answer.seconds > 0
        assert {len(value) for value in answer.outputs.values()} == {len(request["sizes"])}


@tf.function(jit_compile=True)
def compiled(x):
    return x + 1


@pytest.mark.slow
def test_c_refuses_what_demands_xla(tmp_path):
    """The control: a server's refusal would show here."""
    module = tf.Module()
    signature = tf.TensorSpec([None], tf.float32, name="x")
    module.call = tf.function(lambda x: {"y": compiled(x)}, input_signature=[signature])
    tf.saved_model.save(module, tmp_path, signatures=module.call.get_concrete_function())
    with pytest.raises(RuntimeError, match=r"'serving_default' of .* failed: XLA compilation disabled"):
        predict_offline(tmp_path, [{"x": [1.0]}])
    (answer,) = predict_offline(tmp_path, [{"x": [1.0]}], xla=True)
    assert answer.outputs["y"].tolist() == [2.0]


class Scorer(keras.Model):
    """A subclassed model, which does not know its inputs."""

    def __init__(self):
        super().__init__()
        self.parts = rankers.of_one_tensor().layers[1:]

    def call(self, inputs):
        for part in self.parts:
            inputs = part(inputs)
        return inputs


def sequential():
    return keras.Sequential([keras.Input((None, 3)), *models.head(), rankers.of_one_tensor().layers[-1]])


@pytest.mark.slow
@pytest.mark.default_stack_only
@pytest.mark.parametrize(
    "kind", ["functional", *(pytest.param(kind, marks=pytest.mark.nightly) for kind in ("subclassed", "sequential"))]
)
def test_other_models_and_options(kind, tmp_path):
    """One tensor, padding by value; subclassed and sequential; integer ids or none."""
    request = rankers.request()
    made = {"functional": rankers.of_one_tensor, "subclassed": Scorer, "sequential": sequential}
    model, options = made[kind](), {"item_ids": {"functional": "int64", "sequential": "int32"}.get(kind)}
    if kind == "subclassed":
        model(request["documents"])
        options["features"] = tf.TensorSpec([None, None, 3], tf.float32)
    item_ids = options["item_ids"]
    path = serving.export_ranker(model, tmp_path, padding=models.PAD, **options)
    names = set(tf.saved_model.load(path).signatures)
    assert names == {"serving_default"} | ({"with_ids"} if item_ids else set())
    inputs = {"features": request["documents"], "sizes": request["sizes"]}
    expected = rankers.expected(request["documents"], request["sizes"])
    if item_ids:
        inputs["item_ids"] = ids = np.arange(20, dtype=np.int64).reshape(4, 5)
        items = np.clip(expected["order"], 0, None)
        expected["sorted_ids"] = np.where(expected["order"] < 0, -1, np.take_along_axis(ids, items, axis=1))
    signature = "with_ids" if item_ids else "serving_default"
    (answer,) = predict_offline(path, [inputs], signature_name=signature)
    rankers.assert_same(answer.outputs, expected)
    assert item_ids is None or answer.outputs["sorted_ids"].dtype == item_ids


@pytest.mark.default_stack_only
@pytest.mark.nightly
def test_loading_prints_no_warning(tmp_path, caplog):
    """TensorFlow would warn of custom gradients, which these layers have and a server does not need."""
    inputs = keras.Input((None, 3))
    scores = keras.layers.Reshape((-1,))(keras.layers.Dense(1)(inputs))
    ranks = ks.SoftRankLayer(method="lapsum")(scores)
    model = keras.Model(inputs, keras.layers.Add()([ranks, ks.GumbelSoftmaxLayer(k=2)(scores)]))
    folder = serving.export_ranker(model, tmp_path / "ranker")
    caplog.clear()
    documents = np.random.default_rng(1).normal(size=(2, 4, 3)).astype("float32")
    run = tf.saved_model.load(str(folder)).signatures["serving_default"]
    outputs = run(features=tf.constant(documents), sizes=tf.constant([4, 4]))
    assert [record.getMessage() for record in caplog.records if "gradient" in record.getMessage()] == []
    np.testing.assert_allclose(outputs["scores"], model(documents, training=False), rtol=1e-5, atol=1e-6)
    graph = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes()).meta_graphs[0].graph_def
    names = [function.signature.name for function in graph.library.function]
    assert not any("internal_grad_fn" in name for name in names)


@pytest.mark.default_stack_only
@pytest.mark.slow
@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("single", [True, False])
def test_the_signature_of_single_items(tmp_path, single, size):
    """Each gets the score that it has alone in a list, by the Regress API."""
    number, pair = (tf.io.FixedLenFeature([d], tf.float32) for d in (1, 2))
    examples, context = {"a": number, "b": pair}, None if single else {"c": number}
    items = tf.keras.Input((size, 3))
    if single:
        model = tf.keras.Model(items, tf.keras.layers.Dense(1)(items))
    else:
        shapes = {"a": (size, 1), "b": (size, 2), "c": (1,)}
        inputs = {name: tf.keras.Input(shape, name=name) for name, shape in shapes.items()}
        joined = ks.ConcatFeatures()({"a": inputs["a"], "b": inputs["b"]}, {"c": inputs["c"]})
        model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(joined))
    folder = serving.export_ranker(model, tmp_path / "ranker", example_features=examples, context_features=context)
    loaded = tf.saved_model.load(str(folder)).signatures["regress"]
    values = {"a": [[1.0], [2.0], [3.0]], "b": [[4.0, 5.0], [6.0, 7.0], [8.0, 9.0]], "c": [[0.0], [1.0], [2.0]]}
    records = []
    for i in range(3):
        features = {
            name: tf.train.Feature(float_list=tf.train.FloatList(value=value[i])) for name, value in values.items()
        }
        records.append(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
    found = loaded(inputs=tf.constant(records))["outputs"]
    columns = [values["a"], values["b"]] if single else [values["c"], values["a"], values["b"]]
    kernel, bias = model.layers[-1].get_weights()
    np.testing.assert_allclose(found, np.ravel(np.concatenate(columns, axis=1) @ kernel + bias), rtol=1e-5)
    saved = saved_model_pb2.SavedModel.FromString((Path(folder) / "saved_model.pb").read_bytes())
    assert saved.meta_graphs[0].signature_def["regress"].method_name == "tensorflow/serving/regress"
