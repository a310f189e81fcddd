"""What imports what, and what importing the package costs and needs."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest
from support.objects import IS_KERAS_3
from support.processes import json_from, run_python

NAME = "keras_softsort"
ROOT = Path(importlib.util.find_spec(NAME).origin).parent
# A part may import what stands on a lower step, and itself; on one step parts do not know each other.
STEPS = [
    ["ops"],
    ["linalg", "distributions"],
    ["_keras", "_lists", "_targets", "_elwc"],
    ["layers", "losses", "metrics", "callbacks"],
    ["integrations", "tf_ranking", "serving", "data"],
]
STEP = {part: step for step, parts in enumerate(STEPS) for part in parts}


def package_sources():
    """Module name -> source, with packages under their own name."""
    paths = {path.relative_to(ROOT).with_suffix("").parts: path for path in ROOT.rglob("*.py")}
    return {".".join([NAME, *parts]).removesuffix(".__init__"): path.read_text() for parts, path in paths.items()}


def imported(source, modules):
    """The modules of the package that `source` imports anywhere, also inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == NAME)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports would hide where an arrow points"
            if node.module.split(".")[0] == NAME:
                longer = {f"{node.module}.{alias.name}" for alias in node.names}
                yield from (name if name in modules else node.module for name in longer)


def is_public(module):
    return not module.rsplit(".", 1)[-1].startswith("_")


def upward_arrows(sources):
    """Every import that the layering forbids, as (importer, imported)."""
    found = []
    for module, source in sources.items():
        if module == NAME:
            continue
        for target in imported(source, sources):
            own, other = (f"{name}.".split(".")[1] for name in (module, target))
            if own not in STEP or other not in STEP:
                found.append((module, target))
            elif own != other:
                private_root = own.startswith("_") and other.startswith("_")
                if STEP[other] >= STEP[own] and not private_root:
                    found.append((module, target))
            elif module != f"{NAME}.{own}" and is_public(target):
                # Inside a part, operators rest on private helpers, not on each other.
                found.append((module, target))
    return found


def test_imports_point_down():
    sources = package_sources()
    assert {f"{NAME}.ops.neural_sort", f"{NAME}.layers", f"{NAME}._keras"} <= set(sources)
    assert upward_arrows(sources) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("ops.a", "from keras_softsort._keras import keras"),
        ("ops.a", "from keras_softsort import layers"),
        ("ops.a", "def late():\n    import keras_softsort.layers"),
        ("ops.a", "from keras_softsort.ops import b"),
        ("ops.a", "from keras_softsort.ops.b import b"),
        ("ops._a", "from keras_softsort.ops.b import b"),
        ("ops.a", "import keras_softsort"),
        ("_lists", "from keras_softsort.losses import Loss"),
        ("layers.a", "from keras_softsort.losses import Loss"),
        ("metrics.a", "from keras_softsort import losses"),
        ("callbacks.a", "from keras_softsort.layers._base import SortingLayer"),
        ("losses.a", "from keras_softsort import tf_ranking"),
        ("layers.a", "def late():\n    from keras_softsort.tf_ranking import get"),
        ("unheard_of", "from keras_softsort import ops"),
    ],
)
def test_the_check_finds_an_upward_arrow(module, source):
    packages = ("ops", "ops.b", "layers", "layers._base", "losses", "_keras", "tf_ranking")
    sources = {NAME: "", **{f"{NAME}.{name}": "" for name in packages}, f"{NAME}.{module}": source}
    assert [importer for importer, _ in upward_arrows(sources)] == [f"{NAME}.{module}"]


def test_the_check_lets_downward_arrows_pass():
    source = "import tensorflow as tf\nfrom keras_softsort import ops\nfrom keras_softsort._keras import keras"
    sources = {f"{NAME}.ops": "from keras_softsort.ops.a import a", f"{NAME}.ops.a": "", f"{NAME}._keras": ""}
    assert upward_arrows({NAME: "", **sources, f"{NAME}.layers.a": source}) == []


def test_the_package_does_not_import_integrations():
    sources = package_sources()
    integrations = {f"{NAME}.{part}" for part in STEPS[-1] if part != "data"}  # which needs no more than the package
    assert f"{NAME}.tf_ranking" in sources
    assert {target for target in imported(sources[NAME], sources) if target.startswith(tuple(integrations))} == set()


def test_without_tf_ranking_one_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_ranking", None)  # as where it is not installed
    for module in [module for module in sys.modules if module.startswith(f"{NAME}.tf_ranking")]:
        monkeypatch.delitem(sys.modules, module)
    message = r'tf_ranking needs TF-Ranking 0.5.5 with TensorFlow 2.15, .* pip install "keras-softsort\[tf-ranking\]" '
    with pytest.raises(ImportError, match=rf"{message}on Python 3.10 or 3.11; got TensorFlow \d+\.\d+"):
        importlib.import_module(f"{NAME}.tf_ranking")


LOADED = """
import json, sys
import tensorflow as tf
tf.keras.layers.Layer
before = set(sys.modules)
import keras_softsort
print(json.dumps(sorted({name.split(".")[0] for name in set(sys.modules) - before})))
"""


def test_import_loads_nothing_heavy():
    heavy = {"tensorflow_ranking", "tensorflow_serving", "scipy", "matplotlib", "sklearn", "pandas", "grpc"}
    loaded = set(json_from(LOADED, KERAS_BACKEND=None))
    assert NAME in loaded
    assert loaded & heavy == set()


@pytest.mark.skipif(not IS_KERAS_3, reason="Keras 2 has one backend")
@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_other_backends_get_one_clear_error(backend):
    done = run_python("import keras_softsort", check=False, KERAS_BACKEND=backend)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith(
        f"ImportError: keras_softsort needs Keras on the TensorFlow backend, got backend '{backend}'"
    )
    assert "KERAS_BACKEND=tensorflow" in last


LEGACY = """
import json
import numpy as np, tensorflow as tf
import keras_softsort as ks
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(4), ks.NeuralSortLayer(tau=0.5)])
model.compile("sgd", loss=ks.PermutationCrossEntropyLoss(), metrics=[ks.PermutationAccuracy()])
x = np.random.default_rng(1).normal(size=(8, 4)).astype("float32")
history = model.fit(x, np.abs(x), verbose=0).history
print(json.dumps([tf.keras.layers.Layer.__module__.split(".")[0], history["loss"][0]]))
"""


@pytest.mark.skipif(not IS_KERAS_3, reason="TF_USE_LEGACY_KERAS chooses between Keras 3 and tf_keras from TF 2.16 on")
def test_legacy_keras():
    module, loss = json_from(LEGACY, TF_USE_LEGACY_KERAS="1")
    assert module == "tf_keras"
    assert 0 < loss < 10
