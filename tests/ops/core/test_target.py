"""The questions to the target: their answers, and the only files that ask them."""

import ast
import importlib.util
from pathlib import Path

import pytest

from keras_softsort.ops.core import tracing

PACKAGE = Path(importlib.util.find_spec("keras_softsort").origin).parent
# A question, and all modules that call it. Each other one gets the answer of one of these, or needs none.
ASKERS = {
    "compares_pairs": {
        "ops/core/choices",
        "ops/core/order",
        "ops/metrics/_pairs",
        "ops/ranking/_sigmoid_ranks",
        "ops/ranking/pairs",
        "ops/sorting/_ordering",
        "ops/sorting/methods",
    },
    "on_device": {
        "ops/core/choices",
        "ops/core/order",
        "ops/ranking/clicks",
        "ops/sorting/_ordering",
        "ops/sorting/dispatch",
    },
    "multiplies_coarsely": {
        "ops/core/numbers",
    },
    "is_compiled": {
        "ops/core/segments",
        "ops/core/tracing",
    },
}


def asks(source, question):
    """Whether the source calls a function with this name."""
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return any(question in (getattr(each, "id", None), getattr(each, "attr", None)) for each in calls)


@pytest.mark.parametrize("question", ASKERS)
def test_only_these_modules_ask(question):
    sources = {path.relative_to(PACKAGE).with_suffix("").as_posix(): path.read_text() for path in PACKAGE.rglob("*.py")}
    assert {module for module, source in sources.items() if asks(source, question)} == ASKERS[question]


def test_a_call_is_found_by_its_name():
    assert asks("def f(x):\n    return is_compiled() and x", "is_compiled")
    assert asks("tracing.is_compiled()", "is_compiled")
    assert not asks("def is_compiled():\n    return compiled()  # is_compiled()", "is_compiled")


@pytest.mark.parametrize("name", ["TPU", None])
def test_an_unknown_target_is_an_error(name):
    with pytest.raises((TypeError, ValueError), match=r"target .*got"), tracing.lowering_for(name):
        pass


@pytest.mark.parametrize("name", ["gpu", "tpu"])
def test_the_longest_lists_whose_pairs_are_compared(name):
    with tracing.lowering_for(name):
        assert tracing.compares_pairs(2048)
        assert not tracing.compares_pairs(2049)
