"""The table of `docs/coming-from/torchmetrics.md`: numbers of torchmetrics 1.9.0 for rows with ids, as recorded."""

import numpy as np
import pytest

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

SIZES = [5, 3, 6, 4, 3]
USERS = np.repeat(np.arange(5), SIZES)
CLICKS = np.array([0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1])
GRADES = np.array([0, 2, 1, 3, 0, 0, 0, 0, 1, 0, 0, 4, 2, 0, 0, 0, 1, 0, 1, 2, 1])
# Equal scores are in different lists.
SCORES = np.concatenate(
    [
        [0.09, 0.24, 0.80, 0.37, 0.05],
        [0.43, 0.48, 0.16],
        [0.73, 0.11, 0.39, 0.52, 0.43, 0.59],
        [0.74, 0.96, 0.28, 0.65],
        [0.70, 0.29, 0.12],
    ]
)
# The name of the metric and `top_k` -> the results with `empty_target_action` "neg", "pos" and "skip".
RECORDED = {
    ("NDCG", None): (0.606026, 0.806026, 0.757532),
    ("NDCG", 3): (0.479469, 0.679469, 0.599336),
    ("MeanAveragePrecision", None): (0.527778, 0.727778, 0.659722),
    ("MRR", None): (0.550000, 0.750000, 0.687500),
    ("MRR", 2): (0.500000, 0.700000, 0.625000),
    ("Precision", 2): (0.400000, 0.600000, 0.500000),
    ("Precision", 4): (0.500000, 0.700000, 0.625000),  # with `adaptive_k=True`
    ("Recall", 2): (0.300000, 0.500000, 0.375000),
    ("Hits", 2): (0.600000, 0.800000, 0.750000),
}
EMPTY = ("zero", "one", "skip")


def measured(metric, labels, scores=SCORES):
    return float(metric(np.stack([USERS, labels], axis=1), scores))


@pytest.mark.parametrize("no_relevant", EMPTY)
@pytest.mark.parametrize(("name", "k"), RECORDED)
def test_numbers_of_torchmetrics(name, k, no_relevant):
    options = {"gain": "linear"} if name == "NDCG" else {}
    metric = getattr(ks, name)(k, no_relevant=no_relevant, lists="groups", **options)
    assert measured(metric, CLICKS) == pytest.approx(RECORDED[name, k][EMPTY.index(no_relevant)], abs=1e-6)


@pytest.mark.parametrize(("k", "expected"), [(None, 0.5600898), (3, 0.4440560)])
def test_gains_are_the_labels(k, expected):
    assert measured(ks.NDCG(k, gain="linear", lists="groups"), GRADES) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("no_relevant", "expected"), [("zero", 0.4), ("one", 0.6), ("skip", 0.5)])
def test_fall_out_is_the_recall_of_irrelevant_items(no_relevant, expected):
    metric = ks.Recall(2, no_relevant=no_relevant, lists="groups")
    assert measured(metric, 1 - CLICKS) == pytest.approx(expected, abs=1e-6)


def test_the_area_under_the_curve_is_0_there_for_lists_of_one_class():
    ends = np.cumsum(SIZES)[:-1]
    lists = zip(np.split(SCORES, ends), np.split(CLICKS, ends), strict=True)
    areas = [float(ks.ops.ordered_pair_accuracy(*each, no_pairs=0.0)) for each in lists]
    assert np.mean(areas) == pytest.approx(0.288889, abs=1e-6)
    ours = measured(ks.OrderedPairAccuracy(average="lists", lists="groups"), CLICKS)
    assert ours == pytest.approx(0.288889 * 5 / 3, abs=1e-6)  # two of the five lists do not count


def test_r_precision_is_recall_among_as_many_items_as_are_relevant():
    ends = np.cumsum(SIZES)[:-1]
    lists = zip(np.split(SCORES, ends), np.split(CLICKS, ends), strict=True)
    found = [float(ks.ops.recall(scores, clicks, k=max(clicks.sum(), 1))) for scores, clicks in lists]
    assert np.mean(found) == pytest.approx(0.433333, abs=1e-6)


def test_only_the_order_of_scores_matters():
    """There logits, of which some are below 0, have a MAP of 0.366667 in place of 0.527778."""
    logits = np.log(SCORES / (1 - SCORES))
    assert measured(ks.MeanAveragePrecision(lists="groups"), CLICKS, logits) == pytest.approx(0.527778, abs=1e-6)
