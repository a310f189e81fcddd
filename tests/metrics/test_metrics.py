"""Both metrics against a brute force in NumPy."""

import numpy as np
import pytest
from support import models
from support.cases.metrics import elementwise_accuracy, permutation_accuracy

import keras_softsort as ks

keras = models.keras
METRICS = {file.METRICS[0].cls: file.ORACLE for file in (permutation_accuracy, elementwise_accuracy)}
metrics = pytest.mark.parametrize("metric", METRICS)


def value(metric, labels, prediction, *, ascending=False):
    """The value of one list and whether it counts; `prediction` is scores [n] or a matrix [ranks, n]."""
    kept = [j for j, label in enumerate(labels) if not label < 0]
    ordered = sorted((labels[j] for j in kept), reverse=not ascending)
    if prediction.ndim == 1:
        order = sorted(kept, key=lambda j: prediction[j] if ascending else -prediction[j])
    else:
        order = []
        prediction = prediction[: len(kept)]
        for row in prediction:
            order.append(max((j for j in kept if j not in order), key=lambda j: (row[j], -j)))
    right = [labels[j] == label for j, label in zip(order, ordered, strict=False)]
    if np.isnan(prediction[..., kept]).any():
        right = [False] * len(right)
    return float(METRICS[metric](right)) if right else 0.0


def expected(metric, labels, predictions, weights=None, **options):
    values = [value(metric, *row, **options) for row in zip(labels, predictions, strict=True)]
    kept = np.asarray(labels) >= 0
    weights = np.ones(kept.shape) if weights is None else np.broadcast_to(np.c_[weights], kept.shape)
    per_list = [own[keep].mean() if keep.any() else 0.0 for own, keep in zip(weights, kept, strict=True)]
    return np.average(values, weights=per_list)


def random_lists(rng, batch=40, n=4):
    """Few label values, so that ties are common, and few items, so that whole lists are sometimes right."""
    labels = rng.integers(-1, 3, size=(batch, n)).astype("float32")
    labels[0] = -1
    noise = rng.normal(size=(batch, n)) * rng.choice([0.2, 1.5], size=(batch, 1))
    return labels, (labels + noise).astype("float32")


def matrices(scores, *, ascending=False, rows=None, padding=None):
    direction = "ASCENDING" if ascending else "DESCENDING"
    return ks.ops.neural_sort(scores, 0.5, mask=padding, direction=direction, top_k=rows).numpy()


@pytest.mark.parametrize("rows", ["scores", None, 2])
@pytest.mark.parametrize("options", [{}, {"direction": "ASCENDING"}, {"target": "ranks"}], ids=str)
@metrics
def test_value(metric, options, rows, rng):
    labels, predictions = random_lists(rng)
    ascending = bool(options)
    if rows != "scores":
        predictions = matrices(predictions, ascending=ascending, rows=rows, padding=labels >= 0)
    found = metric(**options)
    found.update_state(labels, predictions)
    wanted = expected(metric, labels, predictions, ascending=ascending)
    assert 0.05 < wanted < 0.95
    assert float(found.result()) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("shape", ["[B]", "[B, 1]", "[B, n]"])
@metrics
def test_sample_weight(metric, shape, rng):
    # With as many lists as items, weights of lists must not become weights of items.
    for _ in range(5):
        labels, predictions = random_lists(rng, 4)
        weights = rng.uniform(size={"[B]": 4, "[B, 1]": (4, 1), "[B, n]": (4, 4)}[shape]).astype("float32")
        found = metric()
        found.update_state(labels, predictions, sample_weight=weights)
        assert float(found.result()) == pytest.approx(expected(metric, labels, predictions, weights), rel=1e-5)


@metrics
def test_accumulates_and_resets(metric, rng):
    labels, predictions = random_lists(rng)
    found = metric()
    for part in np.split(np.arange(40), [7, 30]):
        found.update_state(labels[part], predictions[part])
    assert float(found.result()) == pytest.approx(expected(metric, labels, predictions), rel=1e-5)
    found.reset_state()
    assert float(found.result()) == 0
    found.update_state(labels[20:], predictions[20:])
    assert float(found.result()) == pytest.approx(expected(metric, labels[20:], predictions[20:]), rel=1e-5)


@metrics
def test_nan_is_wrong_in_its_own_list_alone(metric):
    labels = np.float32([[3, 2, 1], [3, 2, 1], [3, 2, 1]])
    scores = labels.copy()
    scores[1, 2] = np.nan
    matrix = np.stack([np.eye(3), np.full((3, 3), np.nan), np.eye(3)]).astype("float32")
    for predictions in (scores, matrix):
        found = metric()
        found.update_state(labels, predictions)
        assert float(found.result()) == pytest.approx(2 / 3)


@pytest.mark.parametrize("junk", [np.nan, np.inf, 100])
@pytest.mark.parametrize("rows", ["scores", None, 2])
@metrics
def test_junk_in_padding_changes_nothing(metric, rows, junk, rng):
    labels, predictions = random_lists(rng)
    kept = labels >= 0
    valid = kept
    if rows != "scores":
        predictions = matrices(predictions, rows=rows, padding=kept)
        valid = (np.arange(predictions.shape[1]) < kept.sum(axis=1, keepdims=True))[:, :, None] & kept[:, None]
    found = metric()
    found.update_state(labels, np.where(valid, predictions, np.float32(junk)))
    assert float(found.result()) == pytest.approx(expected(metric, labels, predictions), rel=1e-5)


@pytest.mark.parametrize(
    ("direction", "labels", "last"), [("DESCENDING", [5, 7], -np.inf), ("ASCENDING", [7, 5], np.inf)]
)
@metrics
def test_padding_comes_after_infinite_scores(metric, direction, labels, last):
    found = metric(direction=direction)
    found.update_state(np.float32([[-1, *labels]]), np.float32([[3, last, 1]]))
    assert float(found.result()) == 1


@metrics
def test_scores_of_zero_of_either_sign_are_tied(metric):
    labels, scores = np.float32([[2, 1, 0]]), np.float32([[-0.0, 0.0, -1.0]])
    eager, compiled = metric(), metric()
    eager.update_state(labels, scores)
    models.traced_update(compiled, jit_compile=True)(labels, scores)
    assert float(eager.result()) == float(compiled.result()) == 1


@metrics
def test_only_padding(metric):
    found = metric()
    found.update_state(np.full((2, 3), -1.0), np.ones((2, 3), "float32"))
    assert float(found.result()) == 0


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.slow), True])
def test_in_compile(weighted):
    x, y = models.features(20, 4)
    x[:5, -1], y[5:8, 0] = models.PAD, -1
    weights = np.arange(20, dtype="float32")
    model = models.features_model("functional", ks.NeuralSortLayer(tau=0.7))
    where = "weighted_metrics" if weighted else "metrics"
    compiled = [ks.PermutationAccuracy(name="all"), ks.ElementwiseAccuracy(name="each")]
    model.compile("sgd", loss=ks.PermutationCrossEntropyLoss(), **{where: compiled})
    found = model.evaluate(x, y, sample_weight=weights, batch_size=10, verbose=0, return_dict=True)
    matrix = model.predict(x, verbose=0)
    labels = y.copy()
    labels[:5, -1] = -1
    for metric, name in [(ks.PermutationAccuracy, "all"), (ks.ElementwiseAccuracy, "each")]:
        wanted = expected(metric, labels, matrix, weights if weighted else None)
        assert found[name] == pytest.approx(wanted, rel=1e-4)


@metrics
def test_errors(metric):
    with pytest.raises(ValueError, match=r"y_pred must have shape \[batch, n\].*\(1, 1, 1, 2, 2\)"):
        metric().update_state(np.ones((1, 2)), np.ones((1, 1, 1, 2, 2), "float32"))
    with pytest.raises(TypeError, match="y_pred must be floating-point, got dtype int"):
        metric().update_state(np.ones((1, 2)), np.ones((1, 2), int))


def test_samples_count_as_their_mean():
    samples = np.float32([[[[0.9, 0.1], [0.1, 0.9]], [[0.3, 0.7], [0.7, 0.3]]]])
    metric = ks.PermutationAccuracy()
    metric.update_state(np.float32([[2.0, 1.0]]), samples)
    assert float(metric.result()) == 1
    metric.update_state(np.float32([[2.0, 1.0]]), samples[:, 1:])
    assert float(metric.result()) == 0.5
