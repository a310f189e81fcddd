"""Forward mode (`tf.autodiff.ForwardAccumulator`) in a graph: right, or refused by an error that says so."""

import numpy as np
import pytest
import tensorflow as tf
from support.cases import objects, operators
from support.gradients import fixed_weights

import keras_softsort as ks

GRADES = np.random.default_rng(1).integers(0, 2, size=(3, 5)).astype("float32")
GRADES[:, 0] = 1
SCORES = np.random.default_rng(0).normal(size=(3, 5)).astype("float32")


def of_scores(loss):
    """The operator of a loss as a function of scores [3, 5], or of logits that are made of them."""
    logits = loss.takes == "logits"
    return lambda s: loss.of(tf.stack([s, s / 2], axis=-1) if logits else s, tf.constant(GRADES))


def of_groups(cls):
    """A loss of rows as one function of scores [3, 5]: the lists are in another order than the rows."""
    groups = np.int32([7, 3, 3, 7, 7, 3, 9, 9, 9, 7, 3, 3, 9, 9, 7])
    return lambda s: cls(lists="groups")((groups, GRADES.reshape(-1)), tf.reshape(s, [-1]))


# Functions by name, and the tensors whose first one has a tangent.
CASES = {str(each): (each.function, each.tensors) for each in operators.OPERATIONS if not each.matrix_free}
for _loss in objects.SUBJECTS.values():
    if _loss.takes in {"scores", "permutation", "logits"}:
        CASES[_loss.operator] = of_scores(_loss), [SCORES]
CASES["groups"] = of_groups(ks.SoftmaxLoss), [SCORES]
CASES["groups of pairs"] = of_groups(ks.RankNetLoss), [SCORES]
# One of each kind, tried every time.
QUICK = ("soft_rank", "soft_sort", "nearest_neighbors", "per_segment", "groups", "pl_rank_loss", "sinkhorn")


def floats(results):
    """The results that may have a derivative, as one vector."""
    return tf.concat(
        [tf.reshape(each, [-1]) for each in tf.nest.flatten(results) if each.dtype.is_floating] or [[0.0]], 0
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.nightly) for name in CASES]
)
def test_forward_mode_in_a_graph(name):
    function, (first, *others) = CASES[name]
    scores, others = tf.constant(first), [tf.constant(each) for each in others]
    direction = tf.constant(fixed_weights(first.shape, seed=8), scores.dtype)

    @tf.function(autograph=False)
    def slope(scores):
        with tf.autodiff.ForwardAccumulator(scores, direction) as accumulator:
            result = floats(function(scores, *others))
        return accumulator.jvp(result, tf.UnconnectedGradients.ZERO)

    with tf.GradientTape() as tape:
        tape.watch(scores)
        result = floats(function(scores, *others))
        weights = tf.constant(fixed_weights(result.shape), result.dtype)
        total = tf.reduce_sum(result * weights)
    terms = tape.gradient(total, scores, unconnected_gradients="zero") * direction
    try:
        found = tf.reduce_sum(slope(scores) * weights)
    except RuntimeError as error:
        assert "has no derivative in forward mode" in str(error)  # noqa: PT017
        return
    size = float(tf.reduce_sum(tf.abs(terms)))
    np.testing.assert_allclose(found, tf.reduce_sum(terms), rtol=1e-4, atol=1e-4 * size + 1e-7)
