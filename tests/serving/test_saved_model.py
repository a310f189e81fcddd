"""Exported models: run by TensorFlow alone, and free of what TensorFlow Serving refuses."""

import numpy as np
import pytest
import tensorflow as tf
from support import models
from support.cases import objects
from support.predict_offline import run_requests
from support.processes import json_from
from tensorflow.core.protobuf import saved_model_pb2

import keras_softsort as ks
from keras_softsort.serving._saved_model import signature_inputs

pytestmark = pytest.mark.slow

SIZES = [(1, 3), (4, 5), (2, 7)]
RANDOM = ("Random", "StatefulUniform", "StatefulStandardNormal", "Multinomial", "RngReadAndSkip")


def forbidden(graph):
    """The operations of a GraphDef that TensorFlow Serving would refuse, or that would change its answers."""
    found, run = set(), called(graph)
    for holder in [graph, *graph.library.function]:
        nodes = holder.node if holder is graph else holder.node_def
        attributes = [node.attr for node in nodes] + ([] if holder is graph else [holder.attr])
        if any(attr["_XlaMustCompile"].b for attr in attributes if "_XlaMustCompile" in attr):
            found.add("_XlaMustCompile")
        found |= {node.op for node in nodes if "PyFunc" in node.op}
        # Keras 2 also saves what a layer does in training, which no signature calls.
        if holder is graph or holder.signature.name in run:
            found |= {node.op for node in nodes if any(name in node.op for name in RANDOM)}
    return found


def called(graph):
    """The names of the functions that the graph calls, directly or through others."""
    functions = {function.signature.name: function.node_def for function in graph.library.function}
    names, waiting = set(), list(graph.node)
    while waiting:
        node = waiting.pop()
        values = node.attr.values()
        named = {node.op, *(value.func.name for value in values), *(f.name for v in values for f in v.list.func)}
        for name in (named & set(functions)) - names:
            names.add(name)
            waiting.extend(functions[name])
    return names


def saved_graph(folder):
    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString((folder / "saved_model.pb").read_bytes())
    return saved.meta_graphs[0].graph_def


def trained_model():
    """The model is compiled and trained with XLA. Its export must not need XLA."""
    inputs = tf.keras.Input((None,))
    model = tf.keras.Model(inputs, ks.NeuralSortLayer(tau=0.7)(inputs))
    model.compile("sgd", loss=ks.PermutationCrossEntropyLoss(), jit_compile=True)
    model.predict(models.scores(), verbose=0)
    return model


# One class for each thing that Keras adds to an export: a weight, a seed, a list of inputs.
SIMPLE = (ks.SoftTopKLayer, ks.GumbelSoftmaxLayer, ks.DkNNLayer)
CASES = objects.LAYERS if objects.EVERYTHING else objects.first_of_class(objects.LAYERS)
if not (models.IS_KERAS_3 or objects.EVERYTHING):
    CASES = [case for case in CASES if case.cls in SIMPLE]
MODELS = {f"{i:02}": (str(case), lambda case=case: models.scores_model(*case.layers())) for i, case in enumerate(CASES)}
MODELS["99"] = ("jit_compile", trained_model)
LAST = {title.split("-")[0]: key for key, (title, _) in MODELS.items()}
NAMES = {"jit_compile", *(cls.__name__ for cls in SIMPLE)}
EXPORTED = [key for name, key in LAST.items() if objects.EVERYTHING or name in NAMES]

SERVE = """
import json, pathlib, sys
import numpy as np, tensorflow as tf
folder = pathlib.Path(sys.argv[1])
tf.saved_model.load(folder / "control")
by_tensorflow = set(sys.modules)
data = np.load(folder / "data.npz")
found = {}
for path in sorted(folder.glob("export_*")):
    run = tf.saved_model.load(path).signatures["serving_default"]
    (argument,) = run.structured_input_signature[1]
    for key in data:
        (result,) = run(**{argument: tf.constant(data[key])}).values()
        found[f"{path.name}/{key}"] = result.numpy().tolist()
new = {module.split(".")[0] for module in set(sys.modules) - by_tensorflow}
print(json.dumps([found, sorted(new & {"keras", "tf_keras", "keras_softsort"}), "keras_softsort" in sys.modules]))
"""


def tensorflow_variables(model):
    """The TensorFlow variables, which Keras 3 wraps: the C++ loader finds no variable of a Keras 3 model."""
    return [variable.value if models.IS_KERAS_3 else variable for variable in model.variables]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with models exported by Keras, all saved by TensorFlow as one, the data, and what they give."""
    folder, here, module = tmp_path_factory.mktemp("served"), {}, tf.Module()
    data = {f"{batch}x{n}": models.scores(batch, n) for batch, n in SIZES}
    np.savez(folder / "data.npz", **data)
    tf.saved_model.save(tf.Module(), folder / "control")
    signatures, module.held = {}, []
    for key, (_, make) in MODELS.items():
        model = make()
        if key in EXPORTED:
            model.export(str(folder / f"export_{key}"))
        call = tf.function(model.call, input_signature=[tf.TensorSpec([None, None], tf.float32, name="scores")])
        signatures[f"model_{key}"] = call.get_concrete_function()
        module.held += tensorflow_variables(model)
        here |= {f"{key}/{size}": call(x).numpy() for size, x in data.items()}
    tf.saved_model.save(module, folder / "save", signatures=signatures)
    return folder, data, here


@pytest.fixture(scope="module")
def by_python(saved):
    """Results of the exported models in one process with TensorFlow's Python, and the modules that it imported."""
    return json_from(SERVE, saved[0])


@pytest.fixture(scope="module")
def by_c_api(saved):
    """Results of the saved signatures in one process without it, where XLA's compiler is forbidden."""
    folder, data, _ = saved
    requests = {}
    for key in MODELS:
        (argument,) = signature_inputs(folder / "save", f"model_{key}")
        requests |= {f"save_{key}/{size}": (f"model_{key}", {argument: x}) for size, x in data.items()}
    answers = run_requests(folder / "save", list(requests.values()))
    return {name: next(iter(answer.outputs.values())) for name, answer in zip(requests, answers, strict=True)}


def title(key):
    return MODELS[key][0]


@pytest.mark.parametrize("key", EXPORTED, ids=title)
def test_exported_gives_the_same_in_a_process_of_its_own(saved, by_python, key):
    same_outputs(saved, by_python[0], "export", key)


@pytest.mark.parametrize("key", MODELS, ids=title)
def test_saved_gives_the_same_by_the_c_api_without_xla(saved, by_c_api, key):
    same_outputs(saved, by_c_api, "save", key)


def same_outputs(saved, there, way, key):
    for size in saved[1]:
        np.testing.assert_allclose(there[f"{way}_{key}/{size}"], saved[2][f"{key}/{size}"], rtol=1e-5, atol=1e-6)


def test_neither_keras_nor_the_package_was_needed(by_python):
    _, loaded, package = by_python
    assert loaded == []
    assert package is False


@pytest.mark.parametrize("name", [*(f"export_{key}" for key in EXPORTED), "save"])
def test_graph_can_be_served(saved, name):
    graph = saved_graph(saved[0] / name)
    assert len(graph.library.function) > 0
    assert forbidden(graph) == set()


@tf.function(jit_compile=True)
def compiled(x):
    return x + 1


def calls_compiled(x):
    return compiled(x)


def random_in_a_call(x):
    return tf.cond(x[0] > 0, lambda: x + tf.random.stateless_uniform([3], [1, 2]), lambda: x)


def graph_of(function):
    return tf.function(function).get_concrete_function(tf.TensorSpec([3], tf.float32)).graph.as_graph_def()


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (calls_compiled, "_XlaMustCompile"),
        (lambda x: tf.py_function(lambda y: y, [x], tf.float32), "EagerPyFunc"),
        (lambda x: tf.numpy_function(lambda y: y, [x], tf.float32), "PyFunc"),
        (lambda x: x + tf.random.normal([3]), "RandomStandardNormal"),
        (lambda x: x + tf.random.stateless_uniform([3], [1, 2]), "StatelessRandomUniformV2"),
        (random_in_a_call, "StatelessRandomUniformV2"),
    ],
    ids=["jit", "py_function", "numpy_function", "random", "stateless random", "random in a call"],
)
def test_the_check_finds_what_is_forbidden(function, name):
    found = forbidden(graph_of(function))
    assert name in found


def test_the_check_finds_jit_in_a_saved_model(tmp_path):
    module = tf.Module()
    module.call = tf.function(calls_compiled, input_signature=[tf.TensorSpec([3], tf.float32)])
    tf.saved_model.save(module, tmp_path)
    assert forbidden(saved_graph(tmp_path)) == {"_XlaMustCompile"}
