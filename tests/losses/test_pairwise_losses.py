"""Pairwise losses and lambda weights against loops over the pairs of one list."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from support import models, modes
from support.cases import objects
from support.data.graded_lists import LABELS, SCORES, WEIGHTS
from support.gradients import fixed_weights
from support.oracles import pairs as pair_oracles

import keras_softsort as ks
from keras_softsort.losses import LambdaWeight

pytestmark = pytest.mark.default_stack_only

NONE = models.NO_REDUCTION
# Each class with what makes one pair cost.
COSTS = {ks.PairwiseHingeLoss: "hinge", ks.PairwiseSoftZeroOneLoss: "soft_zero_one", ks.PairwiseMSELoss: "squared"}
CASES = {
    name: (objects.SUBJECTS[cls], arguments)
    for cls in (*COSTS, ks.RankNetLoss)
    for name, arguments in objects.SUBJECTS[cls].values.items()
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "cases"),
    [
        pytest.param("xla", ["hinge", "zero-one", "squared", "version 2"], marks=pytest.mark.nightly),
        ("unknown_shape", ["squared"]),
    ],
)
def test_costs_in_other_modes(mode, cases):
    losses = [subject.cls(reduction=NONE, **arguments) for subject, arguments in map(CASES.get, cases)]

    def total(scores, labels):
        return tf.add_n([loss(labels, scores, WEIGHTS) for loss in losses])

    weights = fixed_weights(len(LABELS))
    value, (gradient,) = modes.run(mode, total, [tf.constant(SCORES)], weights, LABELS)
    wanted = sum(subject.truth(LABELS, SCORES, WEIGHTS, **arguments) for subject, arguments in map(CASES.get, cases))
    np.testing.assert_allclose(value, wanted, rtol=1e-9)
    _, (slopes,) = modes.run("op_by_op", total, [tf.constant(SCORES)], weights, LABELS)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("cls", COSTS)
def test_many_pairs_in_blocks(cls):
    rng = np.random.default_rng(1)
    labels, scores = rng.integers(-1, 5, size=(2, 150)).astype("float64"), rng.normal(size=(2, 150))
    found = tf.function(cls(reduction=NONE, lambda_weight="ndcg"))(labels, scores)
    with_cost = functools.partial(pair_oracles.list_loss, cost=COSTS[cls])
    expected = [with_cost(y, s, lambda_weight=ndcg_swaps) for y, s in zip(labels, scores, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def ndcg_swaps(labels, scores):
    """LambdaRank's weights, without swapping each pair of a long list."""
    labels, ranks = np.float64(labels), np.float64([pair_oracles.ranks_of(scores)[i] for i in range(len(labels))])
    gains, discounts = 2**labels - 1, 1 / np.log2(1 + ranks)
    ideal = np.sum(np.sort(gains)[::-1] / np.log2(np.arange(2, len(gains) + 2)))
    return np.abs(np.subtract.outer(gains, gains)) * np.abs(np.subtract.outer(discounts, discounts)) / ideal


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"metric": "label_diff", "k": 2}, ValueError, r"k needs a lambda_weight of .* got 'label_diff' and 2"),
        ({"metric": "mrr", "gain": "linear"}, ValueError, r"gain needs a lambda_weight of \['dcg', 'ndcg'\]"),
        ({"metric": "map", "version": 2}, ValueError, "version needs a lambda_weight of"),
        ({"metric": "ndcg", "version": 2, "smooth_fraction": 0.5}, ValueError, "smooth_fraction must be None with ver"),
        ({"metric": "map", "discount": "log2"}, ValueError, "discount needs a lambda_weight"),
        ({"metric": "map", "smooth_fraction": 0.5}, ValueError, "smooth_fraction needs a lambda_weight"),
        ({"metric": "precision"}, ValueError, "k must be given with lambda_weight='precision', got None"),
    ],
)
def test_bad_lambda_weights(arguments, error, message):
    with pytest.raises(error, match=message):
        LambdaWeight(**arguments)
