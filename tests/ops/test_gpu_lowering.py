"""Every public operator and loss, forward and backward, lowers to XLA for a GPU, on a machine that has none.

TensorFlow registers what XLA can make of an operation by device, and names those that have nothing for a GPU. Whether
the program then compiles there and is right, `benchmarks/accelerators/run_hlo.py` says on such a machine.
"""

import numpy as np
import pytest
import tensorflow as tf
from support import models
from support.cases import objects, operators

import keras_softsort as ks
from keras_softsort.losses._base import Temperature
from keras_softsort.ops.sorting import dispatch

VERSION = tuple(map(int, tf.__version__.split(".")[:2]))
pytestmark = pytest.mark.skipif(
    VERSION < (2, 20), reason="TensorFlow lowers for devices that are not there from 2.20 on"
)


def lowered(function, *tensors):
    """The serialized HLO of `function(*tensors)` for a GPU."""
    traced = tf.function(function, jit_compile=True, autograph=False)
    return traced.experimental_get_compiler_ir(*tensors)(stage="hlo_serialized", platform_name="GPU")


def assert_lowers(function, tensors, has_gradient=True):
    """Values, and with them the gradients of every input."""

    def forward_and_backward(*inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            values = function(*inputs)
        if not has_gradient:
            return values
        gradients = tape.gradient(values, inputs)
        assert all(gradient is not None for gradient in gradients)
        return values, gradients

    # A program that computes nothing has no instructions to speak of.
    assert len(lowered(forward_and_backward, *map(tf.constant, tensors))) > 1000


# The products of a linear operator are those of the operators, each of which is lowered once.
ONE_OF_EACH = {each.name: each for each in reversed(operators.OPERATIONS) if each.name in ks.ops.__all__}


@pytest.mark.slow
@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(each, marks=[] if ONE_OF_EACH.get(each.name) is each else [pytest.mark.nightly])
        for each in operators.OPERATIONS
    ],
    ids=str,
)
def test_operator(operation, monkeypatch):
    if operation.matrix_free:
        monkeypatch.setattr(dispatch, "_rows", None)
    assert_lowers(operation.function, operation.tensors, has_gradient=not operation.forward_only)


# A program with variables of its own cannot be lowered for a device that is not there.
LOSSES = [case for case in objects.LOSSES if not case.arguments.get("memory_size")]
FIRST = objects.first_of_class(LOSSES)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[] if case in FIRST else [pytest.mark.nightly]) for case in LOSSES], ids=str
)
def test_loss(case, monkeypatch):
    labels, predicted = np.float32([[0, 2, 1, -1, 3], [1, 0, 0, 2, 1]]), models.scores(2)
    if case.subject.takes in {"permutation", "logits"}:
        predicted = np.full([2, 5, 2 if case.subject.takes == "logits" else 5], 0.2, "f")
    if case.subject.takes == "embeddings":
        labels, predicted = np.int32([0, 1, 0, 1, 1]), models.scores(5, 3)
    # TensorFlow lowers no variable without a device, so the temperature is a constant here.
    monkeypatch.setattr(Temperature, "_variable", lambda *_: None)
    assert_lowers(lambda predicted: case.make()(labels, predicted), [predicted])


def test_every_public_operator_has_a_case():
    modules = {ks.ops: lambda value: not isinstance(value, type), ks.linalg: callable}
    public = {name for module, kept in modules.items() for name in module.__all__ if kept(getattr(module, name))}
    in_losses = {case.subject.operator for case in LOSSES} - {None}
    assert public == {operation.name for operation in operators.OPERATIONS} | in_losses


@pytest.mark.filterwarnings("ignore")  # TensorFlow's own, on the way to the error
def test_what_cannot_be_lowered_is_found():
    with pytest.raises(ValueError, match="PyFunc"):
        assert_lowers(lambda x: tf.numpy_function(np.sort, [x], tf.float32), [np.zeros(3, "f")], has_gradient=False)
