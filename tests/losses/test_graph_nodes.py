"""A Keras loss adds few operations to its operator's, and none for options that are not used."""

import collections

import pytest
import tensorflow as tf

import keras_softsort as ks

PAIRS = {
    ks.ops.ranknet_loss: ks.RankNetLoss,
    ks.ops.plackett_luce_loss: ks.PlackettLuceLoss,
    ks.ops.softmax_loss: ks.SoftmaxLoss,
    ks.ops.approx_ndcg_loss: ks.ApproxNDCGLoss,
}


def operations(loss, shape=(4, 20)):
    """The types of the operations of a loss and its gradient, in all functions, without constants and parameters."""

    @tf.function(autograph=False, input_signature=[tf.TensorSpec(shape), tf.TensorSpec(shape)])
    def step(labels, scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            value = loss(labels, scores)
        return value, tape.gradient(value, scores)

    graph = step.get_concrete_function().graph.as_graph_def()
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    return collections.Counter(node.op for node in nodes if node.op not in ("Const", "Placeholder", "NoOp", "Identity"))


@pytest.mark.parametrize("operator", PAIRS, ids=lambda operator: operator.__name__)
def test_a_loss_adds_few_operations(operator):
    plain = operations(lambda labels, scores: tf.reduce_mean(operator(scores, labels))).total()
    assert operations(PAIRS[operator](padding=None)).total() <= plain + 24
    assert operations(PAIRS[operator]()).total() <= plain + 50


@pytest.mark.slow
@pytest.mark.parametrize("cls", PAIRS.values(), ids=lambda cls: cls.__name__)
def test_shapes_are_checked_once(cls):
    assert operations(cls())["Assert"] == 0
    assert operations(cls(), [None, 20])["Assert"] == 1
    assert operations(cls(), [None, None])["Assert"] == 1


def test_weights_of_lists_are_computed_for_their_mean_only():
    assert operations(ks.SoftmaxLoss())["Any"] == 1  # the one for lists that fail
    assert operations(ks.SoftmaxLoss(reduction="mean_with_sample_weight"))["Any"] == 2
