"""`@export` and the imports of the `__init__.py` files name the same things."""

import ast
import importlib.util
import inspect
import types
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.python.autograph.core import ag_ctx

import keras_softsort as ks
from keras_softsort._internal import export

ROOT = Path(importlib.util.find_spec("keras_softsort").origin).parent
FOLDERS = sorted(path.parent.name for path in ROOT.glob("[a-z]*/__init__.py"))
OPERATORS = {
    *("gumbel_softmax", "linear_assignment", "neural_sort", "sinkhorn"),
    *("soft_rank", "soft_sort", "soft_top_k", "soft_values"),
}
KERAS_OBJECTS = (ks.callbacks, ks.distributions, ks.layers, ks.linalg, ks.losses, ks.metrics)


def exported(tree):
    """The names of definitions with the decorator `@export`, in each of its forms."""
    for node in tree.body:
        decorators = [ast.unparse(each) for each in getattr(node, "decorator_list", [])]
        if {"export", "export(top_level=True)", "export(calls_back=True)"} & set(decorators):
            yield node.name


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_exported_name_is_imported_by_its_folder(folder):
    names = {name for path in (ROOT / folder).rglob("*.py") for name in exported(ast.parse(path.read_text()))}
    tree = ast.parse((ROOT / folder / "__init__.py").read_text())
    aliases = [alias for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    imported = {alias.name for alias in aliases if alias.asname == alias.name}
    imported -= {"LOSSES"}  # a dictionary, which has no decorator
    place, missing, unknown = f"keras_softsort/{folder}/__init__.py", sorted(names - imported), sorted(imported - names)
    assert not missing, f"import {missing} in {place}, as `from ... import X as X`"
    assert not unknown, f"decorate {unknown} with @export, or do not import them in {place}"
    if folder in ks.__all__:
        assert sorted(set(getattr(ks, folder).__all__) - {"LOSSES"}) == sorted(names)


def test_the_top_level_has_keras_objects_distributions_and_eight_operators():
    modules = {name for name in ks.__all__ if isinstance(getattr(ks, name), types.ModuleType)}
    assert modules == {*(each.__name__.split(".")[1] for each in KERAS_OBJECTS), "data", "models", "ops", "trees"}
    assert set(ks.__all__) - modules == {name for each in KERAS_OBJECTS for name in each.__all__} | OPERATORS
    found = {name for name in ks.ops.__all__ if hasattr(ks, name)}
    assert found == OPERATORS, "OPERATORS of tests/test_export.py holds those with @export(top_level=True)"


def test_a_class_with_a_config_is_registered_with_keras(monkeypatch):
    monkeypatch.setattr(export, "_names", {"keras_softsort.layers": set(), "keras_softsort": set()})

    class Made:
        def get_config(self):
            return {}

    Made.__module__ = "keras_softsort.layers.made"
    assert export.export(Made) is Made
    assert export._names == {"keras_softsort.layers": {"Made"}, "keras_softsort": {"Made"}}
    registered = export.tf.keras.utils.get_custom_objects()
    assert registered.pop("keras_softsort>Made") is Made


def test_autograph_converts_only_operators_that_call_functions_of_the_user(monkeypatch):
    """It takes longer to convert the checks of an operator than to trace it."""
    functions = {name: getattr(ks.ops, name) for name in ks.ops.__all__}
    converted = [
        name for name, each in functions.items() if inspect.isfunction(each) and not hasattr(each, "autograph_info__")
    ]
    assert converted == ["per_segment", "set_loss"]
    monkeypatch.setattr(export, "_names", {"keras_softsort.ops": set()})

    def is_off():
        return ag_ctx.control_status_ctx().status == ag_ctx.Status.DISABLED

    is_off.__module__ = "keras_softsort.ops.made"
    decorated = export.export(is_off)
    assert tf.function(lambda: tf.constant(decorated()))()
