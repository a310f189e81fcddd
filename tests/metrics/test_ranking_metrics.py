"""NDCG and its family as Keras metrics: means over lists and batches, weights, padding, peers and errors."""

import json

import numpy as np
import pytest
import tensorflow as tf
from sklearn import metrics as sklearn_metrics
from support import models
from support.cases import tf_ranking_metrics as cases
from support.cases.collect import collected
from support.oracles import ranking_metrics as oracle

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

RECORDED = json.loads(cases.VALUES.read_text())
METRICS = {file_metric.cls: file_metric for file_metric in collected("METRICS") if not file_metric.takes_matrices}
metrics = pytest.mark.parametrize("cls", METRICS, ids=lambda cls: cls.__name__)
LABELS = np.float32([[3, 1, 2, 0, -1], [0, 0, 0, -1, -1], [1, 0, 4, 2, 1], [-1, -1, -1, -1, -1]])
SCORES = np.float32([[0.9, 0.1, 0.3, 0.2, 7.0], [0.5, 0.2, 0.1, 9.0, 9.0], [0.3, 0.5, 0.4, 0.1, 0.2], [1, 2, 3, 4, 5]])
TOPICS = np.stack([LABELS, np.where(LABELS < 0, -1, LABELS[:, ::-1] > 1)], axis=-1).astype("float32")
RULES = {"zero": 0.0, "one": 1.0, "skip": None}


def labels_of(cls):
    return TOPICS if METRICS[cls].takes_topics else LABELS


def result(metric, *args):
    metric.update_state(*args)
    return float(metric.result())


@pytest.mark.slow
def test_numbers_of_tf_ranking():
    names = []
    for name, ours, _, given in cases.cases():
        assert result(ours, *given) == pytest.approx(RECORDED[name], rel=2e-6, abs=1e-7), name
        names.append(name)
    assert names == list(RECORDED)


def test_the_record_is_that_of_tf_ranking():
    tfr = pytest.importorskip("tensorflow_ranking")
    for name, _, theirs, given in [*cases.cases()][::7]:
        assert cases.recorded(tfr, theirs, given) == pytest.approx(RECORDED[name], abs=1e-6), name


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda: ks.NDCG(3, ties="position"), lambda rs: rs.NDCG(k=3, shuffle_ties=False)),
        (lambda: ks.DCG(3, ties="position"), lambda rs: rs.DCG(k=3, shuffle_ties=False)),
        (lambda: ks.MRR(2, ties="position"), lambda rs: rs.MeanReciprocalRank(k=2, shuffle_ties=False)),
        (
            lambda: ks.MeanAveragePrecision(3, ties="position"),
            lambda rs: rs.MeanAveragePrecision(k=3, shuffle_ties=False),
        ),
        (lambda: ks.Precision(2, ties="position"), lambda rs: rs.PrecisionAtK(k=2, shuffle_ties=False)),
        (lambda: ks.Recall(2, ties="position"), lambda rs: rs.RecallAtK(k=2, shuffle_ties=False)),
    ],
)
def test_numbers_of_keras_rs(ours, theirs):
    keras_rs = pytest.importorskip("keras_rs")
    labels, scores = LABELS[[0, 2]], SCORES[[0, 2]]
    weights = np.float32([[1, 2, 1, 3, 1], [2, 1, 1, 0.5, 1]])
    given = {"labels": labels, "mask": labels >= 0}
    assert result(ours(), labels, scores) == pytest.approx(result(theirs(keras_rs.metrics), given, scores))
    found = result(theirs(keras_rs.metrics), given, scores, weights)
    assert result(ours(), labels, scores, weights) == pytest.approx(found)


def test_average_precision_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    labels, scores = (rng.random((4, 20)) < 0.5).astype(float), rng.permuted(np.tile(np.arange(20.0), (4, 1)), axis=1)
    data = lightgbm.Dataset(rng.normal(size=(80, 2)), labels.ravel(), group=[20] * 4, init_score=scores.ravel())
    params = {"objective": "lambdarank", "metric": "map", "eval_at": [3, 5, 15], "learning_rate": 1e-12, "verbose": -1}
    found, record = {}, lightgbm.record_evaluation(theirs := {})
    lightgbm.train(params, data, num_boost_round=1, valid_sets=[data], callbacks=[record])
    for k in params["eval_at"]:
        found[f"map@{k}"] = [result(ks.MeanAveragePrecision(k, divisor="at_most_k"), labels, scores)]
    assert found == {name: pytest.approx(values) for name, values in theirs["training"].items()}


@pytest.mark.parametrize("case", [case for metric in METRICS.values() for case in metric.cases], ids=str)
def test_options_are_those_of_the_function(case):
    """On tied scores, and labels that only some options count."""
    labels = labels_of(case.cls)[[0, 2]]
    scores = np.float32([[1, 1, 0, 1, 9], [2, 1, 1, 2, 1]])
    of_metric = {"name", "dtype", "no_relevant", "average"}
    options = {name: value for name, value in case.arguments.items() if name not in of_metric}
    function = getattr(ks.ops, {ks.MRR: "mrr"}.get(case.cls, case.cls().name))
    for own, score in zip(labels, scores, strict=True):
        valid = own.reshape(5, -1).max(axis=1) >= 0
        wanted = function(tf.constant(score), np.maximum(own, 0), mask=valid, **options)
        assert result(case.make(), own[None], score[None]) == pytest.approx(float(wanted), rel=1e-6)


@pytest.mark.slow
@metrics
def test_lists_of_several_batches(cls):
    """The mean over lists does not depend on the batches, nor on the padding, nor on how `update_state` runs."""
    labels, weights = labels_of(cls), np.float32([2, 1, 0.5, 3])
    whole, parts = cls(), cls()
    wanted = result(whole, labels, SCORES, weights)
    for rows in (slice(0, 1), slice(1, 4)):
        parts.update_state(labels[rows], SCORES[rows], weights[rows])
    assert float(parts.result()) == pytest.approx(wanted, rel=1e-6)
    wider = np.pad(labels, [(0, 0), (0, 2)] + [(0, 0)] * (labels.ndim - 2), constant_values=-1)
    scores = np.pad(SCORES, [(0, 0), (0, 2)], constant_values=np.nan)
    assert result(cls(), wider, scores, weights) == pytest.approx(wanted, rel=1e-6)
    compiled = cls()
    models.traced_update(compiled, jit_compile=True)(labels, SCORES, weights)
    assert float(compiled.result()) == pytest.approx(wanted, rel=1e-6)
    whole.reset_state()
    assert result(whole, labels[:1], SCORES[:1]) == pytest.approx(result(cls(), labels[:1], SCORES[:1]))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("cls", [cls for cls in METRICS if "no_relevant" in cls().get_config()])
def test_lists_without_relevant_items(cls, rule):
    """The second list of `LABELS` has none. The last one is all padding, and never counts."""
    labels = LABELS if cls is not ks.PrecisionIA else np.stack([LABELS, LABELS], axis=-1)
    name = {"MRR": "mrr", "NDCG": "ndcg"}.get(cls.__name__) or cls().name
    values = [oracle.metric(name, SCORES[i], labels[i], mask=LABELS[i] >= 0) for i in (0, 2)]
    values += [] if RULES[rule] is None else [RULES[rule]]
    assert result(cls(no_relevant=rule), labels, SCORES) == pytest.approx(np.mean(values), rel=1e-6)


@metrics
def test_weights_of_items_and_lists(cls):
    """A weight of every item of a list is one of the list, and a weight of 0 is a mask."""
    labels = labels_of(cls)
    weights = np.float32([2, 1, 0.5, 3])
    by_item = np.repeat(weights[:, None], 5, axis=1)
    assert result(cls(), labels, SCORES, by_item) == pytest.approx(result(cls(), labels, SCORES, weights), rel=1e-6)
    by_item[0, 2] = 0
    without = labels.copy()
    without[0, 2] = -1
    assert result(cls(), labels, SCORES, by_item) == pytest.approx(result(cls(), without, SCORES, weights), rel=1e-6)


@metrics
def test_a_nan_label_of_weight_0_is_left_out(cls):
    labels = labels_of(cls)[2:3, :4]
    nan = labels.copy()
    nan[:, 0] = np.nan
    weights = np.float32([[0, 1, 1, 1]])
    assert result(cls(), nan, SCORES[2:3, :4], weights) == result(cls(), labels, SCORES[2:3, :4], weights)


@metrics
def test_nan_is_not_hidden(cls):
    labels, scores = labels_of(cls), SCORES.copy()
    scores[0, 0] = np.nan
    assert np.isnan(result(cls(), labels, scores))
    assert np.isfinite(result(cls(), labels, scores, np.float32([[0, 1, 1, 1, 1]] * 4)))


@pytest.mark.parametrize("lists", ["rows", "batch"])
@pytest.mark.parametrize("cls", [cls for cls in METRICS if METRICS[cls].takes_topics])
def test_topics(cls, lists):
    own, metric = cls(), cls(lists=lists)
    rows = [slice(i, i + 1) for i in range(4)] if lists == "rows" else range(4)
    for row in rows:
        metric.update_state(TOPICS[row], SCORES[row], np.float32(2) if lists == "rows" else np.full(5, 2, "float32"))
    assert float(metric.result()) == pytest.approx(result(own, TOPICS, SCORES), rel=1e-6)
    assert result(cls(), TOPICS.astype(int), SCORES) == pytest.approx(float(own.result()))
    nan = cls(padding="nan_labels")
    assert result(nan, np.where(TOPICS < 0, np.nan, TOPICS), SCORES) == pytest.approx(float(own.result()))
    with pytest.raises(ValueError, match=r"y_true must have shape \[batch, n, topics\] with lists='rows'"):
        cls().update_state(LABELS, SCORES)


@tf.keras.utils.register_keras_serializable(package="mine")
def doubled(labels):
    return 2 * labels


def test_functions_are_saved():
    metric = ks.NDCG(3, gain=doubled, discount=doubled)
    again = ks.NDCG.from_config(json.loads(json.dumps(metric.get_config())))
    assert (again.gain, again.discount) == (doubled, doubled)
    assert result(again, LABELS, SCORES) == result(metric, LABELS, SCORES) != result(ks.NDCG(3), LABELS, SCORES)


@pytest.mark.slow
def test_early_stopping_in_fit():
    x, y = models.features(8, 5)
    model = models.features_model("functional")
    model.compile("adam", loss=ks.SoftmaxLoss(), metrics=[ks.NDCG(k=2), ks.MRR(name="first")])
    stop = tf.keras.callbacks.EarlyStopping(monitor="val_ndcg", mode="max", patience=1)
    history = model.fit(x, y, validation_data=(x, y), epochs=3, callbacks=[stop], verbose=0).history
    assert set(history) == {"loss", "ndcg", "first", "val_loss", "val_ndcg", "val_first"}
    scores = tf.reshape(model.predict(x, verbose=0), y.shape)
    wanted = np.mean(ks.ops.ndcg(scores, y, k=2))
    assert model.evaluate(x, y, verbose=0, return_dict=True)["ndcg"] == pytest.approx(wanted, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype):
    scores = tf.cast(SCORES, dtype)
    for cls in METRICS:
        wanted = result(cls(), labels_of(cls), tf.cast(scores, tf.float32))
        assert result(cls(), labels_of(cls), scores) == pytest.approx(wanted, rel=1e-6)


def test_the_auc_of_users():
    """The mean of scikit-learn's areas of users with a click and an item without one, weighted or not."""
    rng = np.random.default_rng(0)
    users, scores = rng.integers(0, 9, 80), rng.integers(0, 5, 80).astype(float)
    clicks = (rng.random(80) < 0.3).astype(float)
    clicks[users == 2] = 0
    both = [user for user in range(9) if len({*clicks[users == user]}) == 2]
    areas = [sklearn_metrics.roc_auc_score(clicks[users == user], scores[users == user]) for user in both]
    metric = ks.OrderedPairAccuracy(lists="groups", average="lists")
    assert result(metric, np.stack([users, clicks], axis=1), scores) == pytest.approx(np.mean(areas))
    sizes = np.bincount(users)
    metric = ks.OrderedPairAccuracy(lists="groups", average="lists")
    found = result(metric, np.stack([users, clicks], axis=1), scores, sizes[users].astype(float))
    assert found == pytest.approx(np.average(areas, weights=sizes[both]))
    assert 2 not in both
    segments = ks.ops.per_segment(ks.ops.ordered_pair_accuracy, scores, clicks, users, no_pairs=np.nan).numpy()
    firsts = segments[np.unique(users, return_index=True)[1]]
    assert np.flatnonzero(~np.isnan(firsts)).tolist() == both
    np.testing.assert_allclose(firsts[both], areas)


def test_harrells_concordance_index():
    """The number is that of lifelines 0.30.3. At equal times a person with the event has the higher risk."""
    times = np.float64([6, 5, 4, 2, 3, 1, 1, 1, 2, 6, 5, 7])
    events = np.float64([0, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1])
    risks = np.float64([0, 0.5, 1, 1, 1, 0, 0, 0, 0, 1.5, 1, 1.5])
    metric = ks.OrderedPairAccuracy(lists="batch", padding=None, keep_zero_weights=True)
    labels = -(times + (1 - events) / 2)
    assert result(metric, labels, risks, events) == pytest.approx(0.25925925925925924)
    without = ks.OrderedPairAccuracy(lists="batch", padding=None)
    assert result(without, labels, risks, events) != pytest.approx(0.25925925925925924, abs=0.01)
