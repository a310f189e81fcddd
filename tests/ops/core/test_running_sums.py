"""Running sums in the form of each device."""

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks
from keras_softsort.ops.core import target
from keras_softsort.ops.core.running_sums import running_sums


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("size", [1, 2, 5, 64, 100])
@pytest.mark.parametrize("ways", [{}, {"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}])
@pytest.mark.parametrize("name", ["cpu", "tpu"])
def test_values_and_gradients(name, ways, size, jit, rng):
    values, weights = rng.normal(size=[2, 3, size])

    def run(values):
        with tf.GradientTape() as tape:
            tape.watch(values)
            sums = running_sums(values, **ways)
            total = tf.reduce_sum(sums * weights)
        return sums, tape.gradient(total, values)

    with target.lowering_for(name):
        sums, gradient = tf.function(run, jit_compile=jit, autograph=False)(tf.constant(values))
    counts = np.tri(size, k=-1 if "exclusive" in ways else 0)  # [sum, value]
    counts = counts.T if "reverse" in ways else counts
    np.testing.assert_allclose(sums, values @ counts.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradient, weights @ counts, rtol=1e-12, atol=1e-12)


# Operators whose lists are too long to be compared by pairs, and hold float64.
LONG = {
    "soft_values": ks.soft_values,
    "soft_rank": ks.soft_rank,
    "soft_rank, soft_sort": lambda scores: ks.soft_rank(scores, method="soft_sort"),
    "soft_rank, lapsum": lambda scores: ks.soft_rank(scores, method="lapsum"),
    "soft_top_k": lambda scores: ks.soft_top_k(scores, 3).values,
    "soft_quantile": lambda scores: ks.ops.soft_quantile(scores, 0.5),
    "plackett_luce_loss": lambda scores: ks.ops.plackett_luce_loss(scores, scores),
    "unique_softmax_loss": lambda scores: ks.ops.unique_softmax_loss(scores, tf.abs(scores)),
    "approx_ndcg_loss": lambda scores: ks.ops.approx_ndcg_loss(scores, tf.abs(scores)),
    "ranknet_loss": lambda scores: ks.ops.ranknet_loss(scores, scores),
    "log_prob": lambda scores: ks.PlackettLuce(scores).log_prob(tf.argsort(scores)),
}


@pytest.mark.parametrize("function", LONG.values(), ids=LONG)
def test_the_program_for_a_tpu_has_no_running_sum_of_float64(function):
    """Its compiler takes minutes for one of 100,000 numbers."""

    def step(scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            values = function(scores)
        return values, tape.gradient(values, scores)

    with target.lowering_for("tpu"):
        traced = tf.function(step, jit_compile=True, autograph=False).get_concrete_function(tf.TensorSpec([1, 2500]))
    definition = traced.graph.as_graph_def()
    nodes = [*definition.node, *(node for each in definition.library.function for node in each.node_def)]
    sums = [node.name for node in nodes if node.op == "Cumsum" and node.attr["T"].type == tf.float64.as_datatype_enum]
    assert sums == []
