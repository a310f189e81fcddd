"""`lists`, `padding` and columns of scores in every list metric."""

import re

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats
from support import models
from support.cases.collect import collected

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

METRICS = [metric.cls for metric in collected("METRICS") if not metric.takes_topics]
SORT_METRICS = [metric.cls for metric in collected("METRICS") if metric.takes_matrices]
metrics = pytest.mark.parametrize("metric", METRICS)
LABELS = np.float32([[3, 1, 2, -1], [1, 2, 4, 3]])
SCORES = np.float32([[0.9, 0.1, 0.2, 5.0], [0.3, 0.5, 0.4, 0.1]])


def result(metric, labels, scores, *, jit_compile=False, **options):
    own = metric(**options)
    update = models.traced_update(own, jit_compile=True) if jit_compile else own.update_state
    update(labels, scores)
    return float(own.result())


@metrics
def test_names_and_dtype(metric):
    assert metric().name == re.sub("(?<=[a-z])(?=[A-Z])", "_", metric.__name__).lower()
    assert metric(name="mine").name == "mine"
    assert metric(dtype="float64").dtype == "float64"


@metrics
def test_columns_of_scores(metric):
    wanted = result(metric, LABELS, SCORES)
    assert result(metric, LABELS, SCORES[..., None]) == wanted
    assert result(metric, LABELS[..., None], SCORES[..., None]) == wanted


@pytest.mark.slow
@metrics
def test_the_batch_is_one_list(metric):
    for labels, scores in zip(LABELS, SCORES, strict=True):
        wanted = result(metric, labels[None], scores[None])
        assert result(metric, labels, scores, lists="batch") == wanted
        assert result(metric, labels[:, None], scores[:, None], lists="batch") == wanted
    assert result(metric, labels[:, None], scores[:, None], lists="batch", jit_compile=True) == wanted
    own = metric(lists="batch")
    for labels, scores in zip(LABELS, SCORES, strict=True):
        own.update_state(labels, scores)
    assert float(own.result()) == pytest.approx(result(metric, LABELS, SCORES), rel=1e-6)


@pytest.mark.parametrize("metric", SORT_METRICS)
def test_a_matrix_of_the_batch(metric):
    # An identity matrix says that the items are sorted already.
    assert result(metric, np.float32([4, 3, 2]), np.eye(3, dtype="float32"), lists="batch") == 1


@pytest.mark.parametrize("lists", ["rows", "batch"])
@metrics
def test_what_marks_padding(metric, lists):
    labels, scores = LABELS[0], SCORES[0]
    options = {"k": 1} if metric in (ks.Hits, ks.Recall) else {}
    only_order = metric in SORT_METRICS
    of_nan = np.where(labels < 0, np.float32(np.nan), labels - 2 * only_order)
    wanted = result(metric, labels[None], scores[None], **options)
    one = (lambda values: values) if lists == "batch" else (lambda values: values[None])
    assert result(metric, one(of_nan), one(scores), lists=lists, padding="nan_labels", **options) == wanted
    every = result(metric, one(labels), one(scores), lists=lists, padding=None, **options)
    assert not only_order or every == result(metric, labels[None] + 1, scores[None])
    assert every != wanted  # a label below 0 that is no padding has no gain: NaN


@metrics
def test_a_row_of_one_item_is_an_error(metric):
    with pytest.raises(ValueError, match=r"lists='batch'.*\[batch, n, 1\].*ks\.data"):
        result(metric, LABELS[:, :1], SCORES[:, :1])
    assert metric(padding=None, lists="batch").get_config()["padding"] is None
    assert metric(lists="batch").get_config()["lists"] == "batch"


@pytest.mark.slow
def test_eras_of_centered_targets_in_compile():
    """Targets around zero, a batch per era: the mean over standard deviation of SciPy's correlations."""
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(5, 30, 3)), rng.normal(size=(5, 30))
    y = x @ [1.0, -0.5, 0.2] + 2 * noise
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
    metric = ks.SpearmanCorrelation(lists="batch", padding=None, statistic="mean_over_std")
    model.compile(loss="mse", metrics=[metric])
    data = tf.data.Dataset.from_tensor_slices((x.astype("float32"), y.astype("float32")[..., None]))
    found = model.evaluate(data, return_dict=True, verbose=0)["spearman_correlation"]
    values = [stats.spearmanr(model(era)[:, 0], own).statistic for era, own in zip(x, y, strict=True)]
    assert found == pytest.approx(np.mean(values) / np.std(values), rel=1e-4)
