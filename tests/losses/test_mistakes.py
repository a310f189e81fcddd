"""Mistakes that losses, metrics and data sets warn of, once, and what is no mistake."""

import warnings

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks
from keras_softsort._internal import advice

keras = tf.keras
RANDOM = np.random.default_rng(0)
NEGATIVE = np.float32([[-0.5, -2.0, -1.0], [-3.0, -1.5, -0.1]])
SCORES = np.float32([[1, 2, 3], [3, 2, 1]])
ONLY_NEGATIVE = 'y_true has only labels below 0, from -3 to -0.1, and padding="negative_labels" takes them for padding'


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    monkeypatch.setattr(advice, "_given", set())


def test_a_warning_is_given_once_per_key():
    with pytest.warns(UserWarning, match="first"):
        advice.warn_once("a", "first")
    advice.warn_once("a", "second")
    with pytest.warns(UserWarning, match="third"):
        advice.warn_once("b", "third")


CALLS = {
    "loss": lambda y, **options: ks.SoftmaxLoss(**options)(y, SCORES),
    "matrices": lambda y, **options: ks.PermutationCrossEntropyLoss(**options)(y, ks.neural_sort(SCORES)),
    "metric": lambda y, **options: ks.NDCG(**options)(y, SCORES),
    "groups": lambda y, **options: ks.SpearmanLoss(lists="groups", **options)(
        np.stack([[0, 0, 0, 1, 1, 1], np.ravel(y)], axis=1).astype("float32"), SCORES.ravel()
    ),
    "ragged": lambda y, **options: ks.RankNetLoss(**options)(tf.ragged.constant([y[0], y[1, :2]]), SCORES),
}


@pytest.mark.parametrize("name", CALLS)
def test_labels_that_are_all_below_0(name):
    call, expected = CALLS[name], ONLY_NEGATIVE if name != "ragged" else "y_true has only labels below 0, from -3 to"
    with pytest.warns(UserWarning, match=expected):
        call(NEGATIVE)
    call(NEGATIVE)  # said once
    advice._given.clear()
    for padding in (None, "nan_labels"):  # the remedies
        if name != "ragged":
            call(NEGATIVE, padding=padding)
    call(np.float32([[-1, 2, 1], [-3, -2, -1]]))  # one empty list among others
    call(np.full([2, 3], -1.0, "float32"))  # a batch of padding


def test_labels_below_0_in_a_ragged_batch_of_unequal_lists():
    """Ragged labels are filled up by 0, which is no label."""
    with pytest.warns(UserWarning, match="from -3 to -1"):
        ks.RankNetLoss()(tf.ragged.constant([[-1.0, -2.0, -3.0], [-1.0]]), tf.ragged.constant([[1.0, 2.0, 3.0], [1.0]]))


def compiled(**options):
    model = keras.Sequential([keras.Input((3, 2)), keras.layers.Dense(1)])
    model.compile("sgd", ks.SoftmaxLoss(**options), metrics=[ks.NDCG(**options), ks.PermutationAccuracy(**options)])
    return model


def some_rows(labels):
    return RANDOM.normal(size=(*labels.shape, 2)).astype("float32"), labels


@pytest.mark.nightly
@pytest.mark.parametrize("method", ["evaluate", pytest.param("fit", marks=pytest.mark.slow)])
def test_an_epoch_whose_labels_are_all_below_0(method):
    with pytest.warns(UserWarning, match="ndcg is 0, because no list counted.*takes labels below 0 for padding"):
        getattr(compiled(), method)(*some_rows(NEGATIVE), verbose=0)
    getattr(compiled(), method)(*some_rows(NEGATIVE), verbose=0)  # said once
    advice._given.clear()
    getattr(compiled(padding=None), method)(*some_rows(NEGATIVE), verbose=0)
    getattr(compiled(), method)(*some_rows(np.float32([[-1, 2, 1], [-3, -2, -1]])), verbose=0, batch_size=1)


def test_results_without_updates_give_no_warning():
    metric = ks.SpearmanCorrelation()

    @tf.function(autograph=False)
    def update(y_true, y_pred):
        metric.update_state(y_true, y_pred)

    assert float(metric.result()) == 0
    metric.reset_state()
    assert float(metric.result()) == 0
    update(tf.constant([[1.0, 0.0]]), tf.constant([[2.0, 1.0]]))
    assert float(metric.result()) == 1
    metric.reset_state()
    assert float(metric.result()) == 0


def test_a_data_set_whose_labels_are_all_below_0():
    features = np.ones([4, 1])
    with pytest.warns(UserWarning, match=r"labels are all below 0, from -4 to -1, .* pass them padding=None"):
        ks.data.RankingDataset(features, [-1, -2, -3, -4], [2, 2])
    ks.data.RankingDataset(features, [-1, -2, -3, -4], [2, 2])  # said once
    advice._given.clear()
    mixed = ks.data.RankingDataset(features, [-1, -2, 3, 4], [2, 2])
    mixed[:1]  # a part of one list
    ks.data.RankingDataset(features, [-1, -1, -1, -1], [2, 2])  # no label is known
    ks.data.RankingDataset(np.ones([0, 1]), [], [0, 0])


# Eight lists of four rows, with two grades.
IDS, GRADES = np.repeat(np.arange(8.0), 4), np.tile([0.0, 1.0, 1.0, 0.0], 8)
ROW_SCORES = tf.constant(RANDOM.normal(size=32), tf.float32)
SWAPPED = "group id in the first column and the label in the second .* 2 scattered values .* and 8 blocks"


@pytest.mark.parametrize("make", [ks.SoftmaxLoss, ks.NDCG], ids=["loss", "metric"])
@pytest.mark.parametrize("form", ["columns", "pair", "integers"])
def test_labels_before_group_ids(make, form):
    def target(first, second):
        both = np.stack([first, second], axis=1)
        return {"columns": both.astype("float32"), "pair": (first[:, None], second), "integers": both.astype(int)}[form]

    measure = make(lists="groups")
    with pytest.warns(UserWarning, match=SWAPPED):
        measure(target(GRADES, IDS), ROW_SCORES)
    measure(target(GRADES, IDS), ROW_SCORES)  # said once


def no_mistakes():
    """Group ids and labels."""
    order = RANDOM.permutation(32)
    yield "ids in blocks", IDS, GRADES
    yield "ids anywhere", IDS[order], GRADES[order]
    yield "few groups, sorted by label", np.tile([0.0, 1.0], 16), np.repeat(np.arange(4.0), 8)
    yield "few groups, the label is a rank in the table", np.tile([0.0, 1.0], 16), np.arange(32.0)
    yield "one group", np.zeros(32), IDS
    yield "labels of real numbers", GRADES, IDS / 3
    yield "two groups one after another", np.repeat([0.0, 1.0], 16), IDS
    yield "large ids", 1000 + GRADES, IDS
    yield "one row", IDS[:1], GRADES[:1]


@pytest.mark.parametrize(("ids", "labels"), [pytest.param(*each, id=name) for name, *each in no_mistakes()])
def test_right_targets_give_no_warning(ids, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ks.NDCG(lists="groups")(np.stack([ids, labels], axis=1).astype("float32"), ROW_SCORES[: len(ids)])


def test_labels_that_are_no_integers_before_group_ids_are_an_error():
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=r"must be integers .* before the labels"):
        ks.NDCG(lists="groups")(np.stack([GRADES / 3, IDS], axis=1).astype("float32"), ROW_SCORES)
