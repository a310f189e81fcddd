"""The registry of methods: a new one works everywhere at once, and what a method lacks is one error."""

import ast
import inspect
import pathlib

import numpy as np
import pytest
import tensorflow as tf
from support import models
from support.cases import collect

import keras_softsort as ks
from keras_softsort.ops.sorting import methods
from keras_softsort.ops.sorting._dense.formulas import soft_sort_logits
from keras_softsort.ops.sorting._dense.rows import SoftmaxRows
from keras_softsort.ops.sorting._ordering import Ranks
from keras_softsort.ops.sorting.methods import Method

SCORES = tf.constant(models.scores(3, 5))
USES = collect.by_name("WITH_METHOD")
# Operators and layers that need more of a method than its ranks.
NEEDS_PERMUTATION = [
    name for name in USES if name not in {"soft_rank", "SoftRankLayer", "spearman_loss", "SpearmanLoss"}
]


def test_everything_that_takes_a_method_is_tried():
    named = {name: getattr(module, name) for module in (ks.ops, ks.layers, ks.losses) for name in module.__all__}
    parameters = {name: inspect.signature(each).parameters for name, each in named.items() if callable(each)}
    defaults = {name: found["method"].default for name, found in parameters.items() if "method" in found}
    # The default of others, which do not sort, is the name of another kind of method.
    assert {name for name, method in defaults.items() if method in methods.names("ranks")} <= set(USES)
    assert {"SoftTopKLayer", "SpearmanLoss"} <= set(USES)


def soft_sort_matrix(lists):
    """The matrix that `soft_sort_logits` gives, as one of a method without logits."""
    numbers = tf.broadcast_to(tf.range(tf.shape(lists.scores)[1]), tf.shape(lists.scores))
    ranks = Ranks(numbers, are_leading=False)
    return SoftmaxRows(lists, ranks, soft_sort_logits(lists, ranks, 1.0)).matrix()


# Methods of a single function. Traces know a method by its name.
TOYS = {"toy": Method("toy", soft_sort_logits), "toy matrix": Method("toy matrix", matrix=soft_sort_matrix)}


@pytest.fixture(params=TOYS)
def toy(request):
    """The name of a method."""
    methods.register(TOYS[request.param])
    yield request.param
    del methods.METHODS[request.param]


def value_and_gradient(use, method):
    with tf.GradientTape() as tape:
        tape.watch(SCORES)
        value = use(SCORES, method)
    return value, tape.gradient(value, SCORES)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_registered_method_works(use, toy):
    for found, wanted in zip(value_and_gradient(use, toy), value_and_gradient(use, "soft_sort"), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.fixture
def ranks_only():
    methods.register(Method("ranks_only", ranks=lambda lists: tf.cast(lists.ranks + 1, lists.scores.dtype)))
    yield "ranks_only"
    del methods.METHODS["ranks_only"]


@pytest.mark.parametrize("use", NEEDS_PERMUTATION)
def test_what_a_method_lacks(use, ranks_only):
    lacks = r"method must be one of \[.*'soft_sort'.*\], got 'ranks_only', which has no "
    with pytest.raises(ValueError, match=lacks + "(permutation|values|membership)"):
        USES[use](SCORES, ranks_only)


def test_an_unknown_method_after_the_last_is_gone():
    for near in ("neuralsort", "NEURAL_SORT"):
        with pytest.raises(ValueError, match=f"method must be one of .*, got '{near}'; use 'neural_sort'$"):
            ks.soft_rank([1.0, 2.0], method=near)
    with pytest.raises(
        ValueError, match=r"method must be one of .*, got <function .*; methods are a fixed set: docs/ch"
    ):
        ks.soft_rank([1.0, 2.0], method=lambda scores, tau: scores)
    with pytest.raises(ValueError, match=r"method must be one of \['lapsum', 'neural_sort', .*\], got 'toy'$"):
        ks.soft_rank(SCORES, method="toy")


def test_a_name_is_registered_once(toy):
    with pytest.raises(ValueError, match=f"method names must be unique, got '{toy}', which is registered already"):
        methods.register(Method(toy))


def test_a_method_without_power():
    with pytest.raises(ValueError, match=r"power must be 1 with method 'lapsum', which has none, got 2\.0"):
        ks.soft_rank(SCORES, method="lapsum", power=2.0)


@pytest.mark.slow
def test_nothing_else_compares_names():
    """Outside the registry the name of a method is only ever handed on."""
    root = pathlib.Path(ks.__file__).parent
    names = set(methods.names("ranks")) | set(methods.names("values"))
    for path in root.rglob("*.py"):
        if path.name in {"methods.py", "__init__.py"}:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Compare | ast.Tuple | ast.List | ast.Set):
                constants = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
                assert not constants & names, f"{path.relative_to(root)}:{node.lineno}"
