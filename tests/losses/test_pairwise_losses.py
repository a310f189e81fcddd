"""Pairwise losses and lambda weights against loops over the pairs of one list."""

import functools
import json

import numpy as np
import pytest
import tensorflow as tf
from support import models, modes
from support.gradients import central_differences, fixed_weights
from support.oracles import pairs as pair_oracles

import keras_softsort as ks
from keras_softsort.losses import LambdaWeight

pytestmark = pytest.mark.default_stack_only

NONE = models.NO_REDUCTION
LABELS = np.float64([[3, 1, 2, 0, 4, 1], [0, 0, 0, 0, 0, 0], [2, -1, 2, 1, -1, 0], [-1, -1, 4, -1, -1, -1], [-1] * 6])
SCORES = np.random.default_rng(4).normal(size=LABELS.shape)
WEIGHTS = np.random.default_rng(2).uniform(size=LABELS.shape)


@tf.keras.utils.register_keras_serializable(package="tests")
def root_gain(labels):
    return labels**0.5


@tf.keras.utils.register_keras_serializable(package="tests")
def root_discount(ranks):
    return (1 + ranks) ** -0.5


version_2 = functools.partial(functools.partial, pair_oracles.relative_weights)
# Arguments of the loss, and what of them is another for the oracle.
CASES = {
    "hinge": (ks.PairwiseHingeLoss, {}, {}),
    "hinge, list": (ks.PairwiseHingeLoss, {"temperature": 0.5, "normalization": "list", "lambda_weight": "ndcg"}, {}),
    "zero-one": (ks.PairwiseSoftZeroOneLoss, {"temperature": 2.0}, {}),
    "zero-one, mrr": (ks.PairwiseSoftZeroOneLoss, {"normalization": "none", "lambda_weight": "mrr"}, {}),
    "squared": (ks.PairwiseMSELoss, {"temperature": 2.0}, {}),
    "squared, weighted": (ks.PairwiseMSELoss, {"normalization": "none", "lambda_weight": "label_diff"}, {}),
    "label_diff": (ks.RankNetLoss, {"lambda_weight": "label_diff"}, {}),
    "version 2": (
        ks.RankNetLoss,
        {"lambda_weight": LambdaWeight("ndcg", k=2, version=2)},
        {"lambda_weight": version_2(kind="ndcg", k=2)},
    ),
    "neighbors": (
        ks.RankNetLoss,
        {"lambda_weight": LambdaWeight("dcg", version=2, neighbors_only=True)},
        {"lambda_weight": version_2(neighbors_only=True)},
    ),
    "functions": (
        ks.PairwiseHingeLoss,
        {"lambda_weight": LambdaWeight("ndcg", version=2, gain=root_gain, discount=root_discount)},
        {"lambda_weight": version_2(kind="ndcg", gain=root_gain, discount=root_discount)},
    ),
    "min_label": (
        ks.RankNetLoss,
        {"lambda_weight": LambdaWeight("precision", k=2, min_label=2)},
        {
            "lambda_weight": lambda y, s: pair_oracles.swap_weights(
                np.float64(np.greater_equal(y, 2)), s, "precision", k=2
            )
        },
    ),
}
COSTS = {ks.PairwiseHingeLoss: "hinge", ks.PairwiseSoftZeroOneLoss: "soft_zero_one", ks.PairwiseMSELoss: "squared"}


def oracle(case, scores):
    cls, arguments, others = CASES[case]
    options = {"cost": COSTS.get(cls, "logistic"), **arguments, **others}
    options["sigma"] = 1 / options.pop("temperature", 1.0)
    rows = zip(LABELS, scores, WEIGHTS, SCORES, strict=True)
    return np.array([pair_oracles.list_loss(y, s, w, frozen=f, **options) for y, s, w, f in rows])


@pytest.mark.parametrize("case", CASES)
def test_value_and_gradient(case):
    cls, arguments, _ = CASES[case]
    loss, weights = cls(reduction=NONE, **arguments), fixed_weights(len(LABELS))
    value, (gradient,) = modes.run("op_by_op", lambda s, _: loss(LABELS, s, WEIGHTS), [tf.constant(SCORES)], weights)
    np.testing.assert_allclose(value, oracle(case, SCORES), rtol=1e-10)
    (slopes,) = central_differences(lambda s: oracle(case, s), [SCORES], weights)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("mode", "cases"), [("xla", ["hinge", "zero-one", "squared", "version 2"]), ("unknown_shape", ["squared"])]
)
def test_costs_in_other_modes(mode, cases):
    losses = [CASES[case][0](reduction=NONE, **CASES[case][1]) for case in cases]

    def total(scores, labels):
        return tf.add_n([loss(labels, scores, WEIGHTS) for loss in losses])

    weights = fixed_weights(len(LABELS))
    value, (gradient,) = modes.run(mode, total, [tf.constant(SCORES)], weights, LABELS)
    np.testing.assert_allclose(value, sum(oracle(case, SCORES) for case in cases), rtol=1e-9)
    _, (slopes,) = modes.run("op_by_op", total, [tf.constant(SCORES)], weights, LABELS)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cls", COSTS)
def test_what_is_no_number_spoils_its_own_list_alone(cls):
    loss, clean = cls(reduction=NONE), cls(reduction=NONE)(LABELS, SCORES)
    for where, what in [("label", np.nan), ("score", np.nan), ("score", np.inf)]:
        labels, scores = LABELS.copy(), SCORES.copy()
        (labels if where == "label" else scores)[0, 2] = what
        found = loss(labels, scores).numpy()
        assert np.isnan(found[0])
        np.testing.assert_array_equal(found[1:], clean[1:])


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


@pytest.mark.parametrize("case", ["version 2", "functions"])
def test_a_lambda_weight_in_a_config(case):
    cls, arguments, _ = CASES[case]
    loss = cls(**arguments)
    again = cls.from_config(json.loads(json.dumps(loss.get_config())))
    assert again.get_config() == loss.get_config()
    assert float(again(LABELS, SCORES)) == float(loss(LABELS, SCORES))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"metric": "err"}, ValueError, "metric must be one of .* got 'err'"),
        ({"metric": "label_diff", "k": 2}, ValueError, r"k needs a lambda_weight of .* got 'label_diff' and 2"),
        ({"metric": "mrr", "gain": "linear"}, ValueError, r"gain needs a lambda_weight of \['dcg', 'ndcg'\]"),
        ({"metric": "map", "version": 2}, ValueError, "version needs a lambda_weight of"),
        ({"metric": "ndcg", "version": 3}, ValueError, "version must be 1 or 2, got 3"),
        ({"metric": "ndcg", "version": 2, "smooth_fraction": 0.5}, ValueError, "smooth_fraction must be None with ver"),
        ({"metric": "ndcg", "discount": "ln"}, ValueError, "discount must be one of .* got 'ln'"),
        ({"metric": "ndcg", "neighbors_only": 1}, TypeError, "neighbors_only must be True or False, got 1"),
        ({"metric": "map", "min_label": "1"}, TypeError, "min_label must be a number, got '1'"),
        ({"metric": "precision"}, ValueError, "k must be given with lambda_weight='precision', got None"),
    ],
)
def test_bad_lambda_weights(arguments, error, message):
    with pytest.raises(error, match=message):
        LambdaWeight(**arguments)


@pytest.mark.parametrize("cls", COSTS)
def test_bad_arguments(cls):
    with pytest.raises(ValueError, match="temperature must be positive and finite, got 0"):
        cls(0)
    with pytest.raises(ValueError, match=r"normalization must be one of .* got 'mean'"):
        cls(normalization="mean")
    with pytest.raises(ValueError, match="k must be given with lambda_weight='precision', got None"):
        cls(lambda_weight="precision")
    with pytest.raises(ValueError, match="weights must not be negative"):
        cls()(LABELS, SCORES, -WEIGHTS)
    with pytest.raises(ValueError, match=r"k must be given to the LambdaWeight, got LambdaWeight\('map'\) and 3"):
        ks.RankNetLoss(lambda_weight=LambdaWeight("map"), k=3)
