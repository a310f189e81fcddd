"""Imports inside the package, and what importing it costs and needs."""

import ast
import importlib.util
import io
import os
import re
import sys
import tokenize
from pathlib import Path

import pytest
from support.models import IS_KERAS_3
from support.processes import json_from, run_python

from keras_softsort._internal.probability_version import check_probability_version

NAME = "keras_softsort"
ROOT = Path(importlib.util.find_spec(NAME).origin).parent
# From the ground up. A folder may import what stands on a lower floor, and itself; folders on one floor do not know
# each other. The same holds for the folders inside a folder.
FLOORS = {
    NAME: [
        ["_internal"],
        ["ops"],
        ["linalg", "distributions"],
        ["_keras"],
        ["_targets"],
        ["layers", "losses", "metrics", "callbacks", "data"],
        ["models", "trees"],
        ["tf_ranking", "serving"],
        ["beam", "spark"],
    ],
    f"{NAME}.ops": [["core"], ["sorting", "matching", "sampling"], ["ranking", "neighbors"], ["metrics"]],
    f"{NAME}.layers": [["sorting", "matching", "sampling", "neighbors", "ranking"]],
    f"{NAME}.losses": [["ranking", "matching", "neighbors"]],
    f"{NAME}.ops.sorting": [["_dense", "_matrix_free", "_permutahedron"]],
}
ADAPTERS = FLOORS[NAME][-2] + FLOORS[NAME][-1]
MOST_LINES = 300


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


def is_within(module, folder):
    return f"{module}.".startswith(f"{folder}.")


def floor(folder, module):
    """The floor and the room of `module` inside `folder`, or None if it has none there."""
    for number, rooms in enumerate(FLOORS[folder]):
        for room in rooms:
            if is_within(module, f"{folder}.{room}"):
                return number, room
    return None


def is_allowed(module, target, sources):
    """Whether `module` may import `target`."""
    for folder in FLOORS:
        if not (is_within(module, folder) and is_within(target, folder)):
            continue
        own, other = floor(folder, module), floor(folder, target)
        at_the_door = module == folder or (target == folder and folder != NAME)
        if folder == NAME and None in (own, other) and not at_the_door:
            return False
        if own and other and own != other and other[0] >= own[0]:
            return False
    # Inside a folder, operators and Keras objects rest on helpers, not on each other.
    is_public = "@export" in sources[target] and "._" not in target
    siblings = target.rpartition(".")[0] == module.rpartition(".")[0] != NAME and is_public
    is_folder = any(is_within(other, target) for other in sources if other != target)
    return not siblings or is_folder


def forbidden_arrows(sources):
    """Every import that the layout forbids, as (importer, imported)."""
    return [
        (module, target)
        for module, source in sources.items()
        if module != NAME
        for target in imported(source, sources)
        if target != module and not is_allowed(module, target, sources)
    ]


def opened_walls(sources):
    """Imports of what is private to another folder: its modules or names that begin with an underscore."""
    found = []
    for module, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == NAME:
                for path in (f"{node.module}.{alias.name}".split(".") for alias in node.names):
                    private = [place for place, part in enumerate(path) if part.startswith("_")]
                    if private and not is_within(module, ".".join(path[: private[0]])):
                        found.append((module, ".".join(path)))
    return found


def circles(sources):
    """Modules that import each other, directly or by others."""
    arrows = {
        module: {name for name in imported(source, sources) if name in sources} for module, source in sources.items()
    }
    waiting = dict(arrows)
    while True:
        done = {module for module, targets in waiting.items() if not targets & set(waiting) - {module}}
        if not done:
            return sorted(waiting)
        waiting = {module: targets for module, targets in waiting.items() if module not in done}


def crowded(sources):
    """Modules of too many lines."""
    return [module for module, source in sources.items() if len(source.splitlines()) > MOST_LINES]


@pytest.mark.slow
def test_imports_point_down():
    sources = package_sources()
    assert {f"{NAME}.ops.sorting.permutations", f"{NAME}.layers", f"{NAME}._keras.compat"} <= set(sources)
    assert forbidden_arrows(sources) == []


def test_an_underscore_is_a_wall():
    assert opened_walls(package_sources()) == []
    within = {f"{NAME}.ops.a": f"from {NAME}.ops._b import c", f"{NAME}.ops.d.e": f"from {NAME}.ops import _f"}
    assert opened_walls(within) == []
    beyond = {f"{NAME}.a": f"from {NAME}.ops._b import c", f"{NAME}.d": f"from {NAME}.ops.e import f, _g"}
    assert opened_walls(beyond) == [(f"{NAME}.a", f"{NAME}.ops._b.c"), (f"{NAME}.d", f"{NAME}.ops.e._g")]


def test_no_module_imports_itself_by_others():
    assert circles(package_sources()) == []


def test_rooms_are_small():
    assert crowded(package_sources()) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("ops.sorting.a", "from keras_softsort._keras.compat import keras"),
        ("ops.sorting.a", "from keras_softsort import layers"),
        ("ops.sorting.a", "def late():\n    import keras_softsort.layers"),
        ("ops.sorting.a", "from keras_softsort.ops.sorting import b"),
        ("ops.sorting.a", "from keras_softsort.ops.sorting.b import b"),
        ("ops.sorting._a", "from keras_softsort.ops.sorting.b import b"),
        ("ops.sorting.a", "from keras_softsort.ops.matching import c"),
        ("ops.sorting.a", "from keras_softsort.ops.matching.c import c"),
        ("ops.sorting.a", "from keras_softsort.ops.ranking.d import d"),
        ("ops.core.a", "from keras_softsort.ops.sorting.b import b"),
        ("ops.ranking.a", "from keras_softsort.ops.neighbors.e import e"),
        ("ops.sorting._dense.a", "from keras_softsort.ops.sorting._matrix_free.f import f"),
        ("ops.sorting.a", "import keras_softsort"),
        ("_targets.a", "from keras_softsort.losses import Loss"),
        ("_internal.arguments", "from keras_softsort.ops.core import validation"),
        ("layers.a", "from keras_softsort.losses import Loss"),
        ("metrics.a", "from keras_softsort import losses"),
        ("callbacks.a", "from keras_softsort.layers._base import SortingLayer"),
        ("losses.a", "from keras_softsort import tf_ranking"),
        ("layers.a", "def late():\n    from keras_softsort.tf_ranking import get"),
        ("serving.a", "from keras_softsort import tf_ranking"),
        ("unheard_of", "from keras_softsort import ops"),
    ],
)
def test_the_check_finds_a_forbidden_arrow(module, source):
    names = [
        "ops",
        "ops.core",
        "ops.core.tracing",
        "ops.sorting",
        "ops.sorting.b",
        "ops.matching",
        "ops.matching.c",
        "ops.ranking",
        "ops.ranking.d",
        "ops.neighbors",
        "ops.neighbors.e",
        "ops.sorting._dense",
        "ops.sorting._matrix_free",
        "ops.sorting._matrix_free.f",
        "layers",
        "layers._base",
        "losses",
        "_internal",
        "_keras.compat",
        "tf_ranking",
        "serving",
    ]
    sources = {NAME: "", **{f"{NAME}.{name}": "'@export'" for name in names}, f"{NAME}.{module}": source}
    assert [importer for importer, _ in forbidden_arrows(sources)] == [f"{NAME}.{module}"]


def test_the_check_lets_downward_arrows_pass():
    sources = {
        f"{NAME}.ops": "from keras_softsort.ops.sorting.a import a",
        f"{NAME}.ops.core.b": "from keras_softsort._internal import arguments",
        f"{NAME}.ops.sorting.a": "from keras_softsort.ops.sorting import _c\nfrom keras_softsort.ops.core import b",
        f"{NAME}.ops.sorting._c": "from keras_softsort.ops.sorting._dense import d",
        f"{NAME}.ops.sorting._dense.d": "from keras_softsort.ops.sorting import _order",
        f"{NAME}.ops.ranking.e": "from keras_softsort.ops.sorting import _c",
        f"{NAME}.layers.a": "from keras_softsort import ops\nfrom keras_softsort._keras.compat import keras",
        f"{NAME}.layers._base": "",
        f"{NAME}.layers.b": "from keras_softsort.layers._base import Base",
    }
    others = "_internal _internal.arguments _keras.compat ops.core ops.sorting ops.sorting._dense"
    others = [f"{NAME}.{name}" for name in f"{others} ops.sorting._order ops.ranking layers".split()]
    assert forbidden_arrows({NAME: "", **dict.fromkeys(others, ""), **sources}) == []


def test_the_check_finds_circles():
    sources = {
        f"{NAME}.a": f"from {NAME} import b",
        f"{NAME}.b": f"from {NAME}.c import d",
        f"{NAME}.c": "import keras_softsort.a",
    }
    assert circles({**sources, f"{NAME}.e": f"from {NAME} import a"}) == [f"{NAME}.{name}" for name in "abce"]
    assert circles({**sources, f"{NAME}.c": ""}) == []


def test_the_check_finds_crowded_rooms():
    assert crowded({f"{NAME}.ops.a": "\n" * (MOST_LINES + 1)}) == [f"{NAME}.ops.a"]


def not_strict(sources):
    """The calls of `zip` that would drop the end of a longer argument, by module."""
    found = {}
    for module, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            is_zip = isinstance(node, ast.Call) and ast.unparse(node.func) == "zip"
            if is_zip and "strict=True" not in map(ast.unparse, node.keywords):
                found.setdefault(module, []).append(ast.unparse(node))
    return found


def test_every_zip_is_strict():
    assert not_strict(package_sources()) == {}


def test_the_check_finds_a_zip_that_is_not_strict():
    sources = {"a": "zip(x, y)", "b": "dict(zip(x, y, strict=False))", "c": "zip(x, y, strict=True)"}
    assert not_strict(sources) == {"a": ["zip(x, y)"], "b": ["zip(x, y, strict=False)"]}


ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def is_comparison(node):
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], ORDERED)


def comparing_functions(tree):
    """The functions that return an ordered comparison and nothing else."""
    for node in ast.walk(tree):
        last = node.body[-1] if isinstance(node, ast.FunctionDef) else None
        if isinstance(last, ast.Return) and is_comparison(last.value):
            yield node.name


def negated_comparisons(tree, functions):
    """The lines that negate an ordered comparison of tensors, or a function of `functions`."""
    for node in ast.walk(tree):
        negated = None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            negated = node.operand
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("logical_not"):
            negated = node.args[0]
        is_call = isinstance(negated, ast.Call) and ast.unparse(negated.func).split(".")[-1] in functions
        if is_comparison(negated) or is_call:
            yield node.lineno


def test_no_comparison_of_tensors_is_negated():
    """TensorFlow's graph optimizer turns `not x < y` into `x >= y`, which does not hold for NaN."""
    trees = {module: ast.parse(source) for module, source in package_sources().items() if "import tensorflow" in source}
    functions = {name for tree in trees.values() for name in comparing_functions(tree)}
    found = {module: list(negated_comparisons(tree, functions)) for module, tree in trees.items()}
    assert found == {module: [] for module in trees}


@pytest.mark.parametrize("source", ["~(x < y)", "tf.logical_not(x >= y)", "~is_low(x)", "tf.logical_not(a.is_low(x))"])
def test_the_check_finds_a_negated_comparison(source):
    tree = ast.parse(f"def is_low(x):\n    return x < 0\n{source}")
    assert list(negated_comparisons(tree, set(comparing_functions(tree)))) == [3]


def test_the_package_does_not_import_adapters():
    sources = package_sources()
    adapters = tuple(f"{NAME}.{part}" for part in ADAPTERS)
    assert {target for target in imported(sources[NAME], sources) if target.startswith(adapters)} == set()


def test_without_tf_ranking_one_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_ranking", None)  # as where it is not installed
    for module in [module for module in sys.modules if module.startswith(f"{NAME}.tf_ranking")]:
        monkeypatch.delitem(sys.modules, module)
    message = r'tf_ranking needs TF-Ranking 0.5.5 with TensorFlow 2.15, .* pip install "keras-softsort\[tf-ranking\]" '
    with pytest.raises(ImportError, match=rf"{message}on Python 3.10 or 3.11; got TensorFlow \d+\.\d+"):
        importlib.import_module(f"{NAME}.tf_ranking")


@pytest.mark.parametrize(("adapter", "engine"), [("beam", "apache_beam"), ("spark", "pyspark")])
def test_without_an_engine_one_clear_error(monkeypatch, adapter, engine):
    monkeypatch.setitem(sys.modules, engine, None)
    for module in [module for module in sys.modules if module.startswith(f"{NAME}.{adapter}")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(ImportError, match=rf'needs Apache .*pip install "keras-softsort\[{adapter}\]"'):
        importlib.import_module(f"{NAME}.{adapter}")


def test_adapters_are_attributes(monkeypatch):
    import keras_softsort as ks

    assert set(ADAPTERS) == set(ks._ADAPTERS)
    monkeypatch.delitem(vars(ks), "serving", raising=False)
    assert ks.serving is importlib.import_module(f"{NAME}.serving")
    monkeypatch.setitem(sys.modules, "apache_beam", None)  # as where it is not installed
    for module in [f"{NAME}.beam", *(module for module in sys.modules if module.startswith(f"{NAME}.beam."))]:
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.delitem(vars(ks), "beam", raising=False)
    with pytest.raises(ImportError, match="needs Apache Beam"):
        ks.beam  # noqa: B018
    assert not {*ADAPTERS} & set(ks.__all__)


def test_an_adapter_is_listed_where_its_library_is_installed(monkeypatch):
    import keras_softsort as ks

    for found in (None, object()):
        for adapter in ADAPTERS:
            monkeypatch.delitem(vars(ks), adapter, raising=False)
        monkeypatch.setattr(ks, "_find_spec", lambda name, found=found: name == "tensorflow" or found)
        listed = {*ADAPTERS} & set(dir(ks))
        assert listed == ({"serving"} if found is None else {*ADAPTERS})
        assert not {*ADAPTERS} & set(vars(ks))  # and nothing was imported


LOADED = """
import json, sys
import tensorflow as tf
tf.keras.layers.Layer
before = set(sys.modules)
import keras_softsort
print(json.dumps(sorted(set(sys.modules) - before)))
"""


@pytest.mark.slow
def test_import_loads_little_besides_tensorflow():
    """Modules of its own, and at most a few others: what takes a part of a second has a thousand modules."""
    loaded = json_from(LOADED, KERAS_BACKEND=None)
    assert NAME in loaded
    assert len([name for name in loaded if name.split(".")[0] != NAME]) < 20
    assert {f"{NAME}.distributions", f"{NAME}.linalg"} & set(loaded) == set()


def test_what_needs_tensorflow_probability_is_imported_when_used():
    import keras_softsort as ks

    lazy = {name: getattr(ks, folder) for folder, names in ks._OF_PROBABILITY.items() for name in names}
    assert all(getattr(ks, name) is getattr(folder, name) for name, folder in lazy.items())
    assert set(lazy) == {name for folder in ks._OF_PROBABILITY for name in getattr(ks, folder).__all__}
    assert {*lazy, *ks._OF_PROBABILITY} <= set(ks.__all__) & set(dir(ks))
    with pytest.raises(AttributeError, match="module 'keras_softsort' has no attribute 'NeuralSortLayr'"):
        ks.NeuralSortLayr  # noqa: B018


ON_ANOTHER_BACKEND = """
import keras_softsort as ks
import keras_softsort.data
from keras_softsort.serving import Scorer
assert ks.ops.soft_rank([[1.0, 2.0]]).shape == (1, 2)
assert ks.ops.ranknet_loss([[1.0, 2.0]], [[0.0, 1.0]]).shape == (1,)
ks.NeuralSortLayer
"""


@pytest.mark.nightly
@pytest.mark.skipif(not IS_KERAS_3, reason="Keras 2 has one backend")
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_on_other_backends_only_keras_objects_are_an_error(backend):
    done = run_python(ON_ANOTHER_BACKEND, check=False, KERAS_BACKEND=backend)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert "KerasBackendError: the Keras objects of keras_softsort need Keras on the TensorFlow backend" in last
    assert f"got backend '{backend}'; set KERAS_BACKEND=tensorflow before Keras is imported" in last


@pytest.mark.parametrize(
    ("tensorflow", "fitting", "others", "wanted"),
    [
        ("2.15.1", ["0.23.0"], ["0.22.1", "0.24.0", "0.25.0"], "==0.23.*"),
        ("2.18.0", ["0.24.0", "0.25.0", "1.0.0"], ["0.23.0"], ">=0.24"),
        ("2.22.0rc0", ["0.25.0", "0.26.0-dev20261101"], ["0.23.0"], ">=0.24"),
    ],
)
def test_releases_of_tfp_that_fit_tensorflow(tensorflow, fitting, others, wanted):
    for release in fitting:
        check_probability_version(tensorflow, release)
    for release in others:
        message = f'TensorFlow {tensorflow} needs tensorflow-probability{wanted}, got {release}; run pip install "tens'
        with pytest.raises(ImportError, match=re.escape(message)):
            check_probability_version(tensorflow, release)


@pytest.mark.nightly
def test_tfp_that_does_not_fit_is_one_clear_error(tmp_path):
    release = "0.23.0" if IS_KERAS_3 else "0.25.0"
    metadata = tmp_path / f"tensorflow_probability-{release}.dist-info" / "METADATA"  # found before the installed one
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: tensorflow-probability\nVersion: {release}\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = run_python(
        "import keras_softsort as ks; ks.NeuralSortLayer(); print('made'); ks.PlackettLuce",
        check=False,
        PYTHONPATH=path,
    )
    assert done.stdout.endswith("made\n")
    assert done.stderr.strip().splitlines()[-1].startswith("ImportError: keras_softsort with TensorFlow 2.")
    assert f"got {release}" in done.stderr


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
@pytest.mark.nightly
def test_legacy_keras():
    module, loss = json_from(LEGACY, TF_USE_LEGACY_KERAS="1")
    assert module == "tf_keras"
    assert 0 < loss < 10


# A docstring or comment is a sentence with a subject, or a noun phrase; it does not lean on the one before it.
LEANING = re.compile(r"(Of|As|The same|Their|To|Whose|For those|With which|Where|What|Which|Those|That of)\b")


def docstrings(source):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]


def comments(source):
    """The first lines of comments: those after code, and those of blocks."""
    found, last = [], None
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            if last != (line - 1, column):
                found.append(token.string.lstrip("# "))
            last = (line, column) if token.line.lstrip().startswith("#") else None
    return found


def leaning(source):
    """The first lines of docstrings and comments that do not stand on their own."""
    return [text.splitlines()[0] for text in docstrings(source) + comments(source) if LEANING.match(text)]


TESTS = Path(__file__).parent


OTHERS = [TESTS.parent / name for name in ("benchmarks", "examples", "experiments")]


@pytest.mark.parametrize("folder", [ROOT, TESTS, *OTHERS], ids=lambda folder: folder.name)
def test_docstrings_and_comments_stand_on_their_own(folder):
    assert {path.name: found for path in folder.rglob("*.py") if (found := leaning(path.read_text()))} == {}


def test_the_check_finds_what_leans_on_others():
    source = """
'''Of the rows.'''
# Whose sums are right.
# Of no block: its second line.
x = 1  # As in Keras.
def f():
    '''The same for columns.'''
"""
    assert sorted(leaning(source)) == ["As in Keras.", "Of the rows.", "The same for columns.", "Whose sums are right."]
    assert leaning("'''Often used.'''\n# Assumes rows.\ndef f():\n    '''The sums of rows.'''") == []
