"""Operators, losses and metrics have the same values and gradients in the forms for accelerators.

That for a TPU compares all pairs, and that for a GPU without XLA computes numbers of items in int64.
"""

import contextlib

import numpy as np
import pytest
import tensorflow as tf
from support import autodiff, models
from support.cases import objects, operators
from support.gradients import tape_gradients

import keras_softsort as ks
from keras_softsort.ops.core import order, tracing

ONE_OF_EACH = {each.name: each for each in reversed(operators.OPERATIONS) if each.name in ks.ops.__all__}
# Losses with noise draw other noise in each call; their operators take a seed.
WITHOUT_NOISE = [case for case in objects.LOSSES if "seed" not in case.arguments]


@contextlib.contextmanager
def gpu_without_xla():
    """Within this context, operators take the form for a GPU in a graph that nothing compiles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracing, "_device", lambda: "gpu" if tracing.is_compiled() else tracing.GPU_WITHOUT_XLA)
        yield


FORMS = {"tpu": lambda: tracing.lowering_for("tpu"), "gpu": gpu_without_xla}


def assert_same_in_form(form, compute):
    """That the arrays of `compute()` do not depend on the target."""
    expected = compute()
    with FORMS[form]():
        found = compute()
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("operation", "form"),
    [
        pytest.param(
            each, form, marks=[] if form == "tpu" and ONE_OF_EACH.get(each.name) is each else [pytest.mark.nightly]
        )
        for each in operators.OPERATIONS
        for form in FORMS
    ],
    ids=str,
)
def test_operator(operation, form):
    tensors = [tf.constant(each) for each in operation.tensors]

    def compute():
        if operation.forward_only:
            return operation.function(*tensors)
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            values = operation.function(*tensors)
        return values, tape.gradient(values, tensors)

    assert_same_in_form(form, compute)


@pytest.mark.nightly
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", WITHOUT_NOISE, ids=str)
def test_loss(case, form):
    labels, predicted = np.float32([[0, 2, 1, -1, 3], [1, 0, 0, 2, 1]]), models.scores(2)
    if case.subject.takes in {"permutation", "logits"}:
        predicted = np.full([2, 5, 2 if case.subject.takes == "logits" else 5], 0.2, "f")
    if case.subject.takes == "embeddings":
        labels, predicted = np.int32([0, 1, 0, 1, 1]), models.scores(5, 3)

    def compute():
        return tape_gradients(lambda scores: case.make()(labels, scores), [tf.constant(predicted)], np.float32(1))

    assert_same_in_form(form, compute)


# Products with the softmaxes of rows, whose weights are computed anew for sums over ranks.
PRODUCTS = {
    "soft_values": lambda s, tau: ks.soft_values(s, tau, mask=MASK),
    "soft_values-soft_sort": lambda s, tau: ks.soft_values(s, tau, method="soft_sort", mask=MASK),
    "soft_rank": lambda s, tau: ks.soft_rank(s, tau, mask=MASK),
    "soft_rank-soft_sort": lambda s, tau: ks.soft_rank(s, tau, method="soft_sort", power=2.0, mask=MASK),
}
MASK = tf.constant([True, True, False, True, True])
# `test_autodiff.py` has second derivatives of some each time.
SECOND_AND_FORWARD = [("cpu", "forward"), ("cpu", "traced_second"), ("tpu", "traced_second")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "way"),
    [
        ("cpu", "persistent"),
        ("tpu", "persistent"),
        ("tpu", "forward"),
        *(pytest.param(*each, marks=pytest.mark.nightly) for each in SECOND_AND_FORWARD),
    ],
)
@pytest.mark.parametrize("name", PRODUCTS)
def test_derivatives_of_products(name, of, way):
    arrays = [np.random.default_rng(0).normal(size=[1, 5]), np.array([0.8])]
    with tracing.lowering_for(of):
        autodiff.check(way, PRODUCTS[name], arrays)


def test_a_tpu_gathers_by_comparison():
    """The program for a TPU has no gather and no segment sum, which take a tile of memory for each number."""
    values, items = tf.constant([[3.0, 5.0, 4.0]]), tf.constant([[1, 2, 0]])

    def operations(name):
        with tracing.lowering_for(name):
            trace = tf.function(lambda: (order.take(values, items), order.inverse(items))).get_concrete_function()
        return {each.type for each in trace.graph.get_operations()}

    slow = {"GatherV2", "UnsortedSegmentSum"}
    assert slow <= operations("cpu")
    assert not slow & operations("tpu")


@pytest.mark.parametrize("name", ["gpu", "tpu"])
@pytest.mark.parametrize(
    ("operator", "size", "kinds"),
    [(ks.ops.ranknet_loss, 200, ["While"]), (ks.ops.approx_ndcg_loss, 300, ["If", "Case"])],
    ids=["loop", "condition"],
)
def test_long_lists_take_no_control_flow_where_pairs_are_compared(operator, size, kinds, name, rng):
    scores, labels = rng.normal(size=(3, size)).astype("f"), rng.integers(0, 5, (3, size)).astype("f")

    def graph():
        lists = tf.TensorSpec(scores.shape)
        return tf.function(operator, autograph=False).get_concrete_function(lists, lists)

    def found_in(traced):
        operations = " ".join(operation.type for operation in traced.graph.get_operations())
        return any(kind in operations for kind in kinds)

    expected = graph()
    with tracing.lowering_for(name):
        found = graph()
    assert found_in(expected)
    assert not found_in(found)
    inputs = tf.constant(scores), tf.constant(labels)
    np.testing.assert_allclose(found(*inputs), expected(*inputs), rtol=1e-5)


def test_rows_of_all_ranks_gather_no_items():
    """A GPU and a TPU would compare all pairs of a list for it."""

    def gathers(top_k):
        traced = tf.function(lambda scores: ks.soft_sort(scores, top_k=top_k), autograph=False)
        operations = traced.get_concrete_function(tf.TensorSpec([2, 7])).graph.get_operations()
        return sum(each.type == "GatherV2" for each in operations)

    assert gathers(None) == gathers(3) == 1  # the scores of the items in order
