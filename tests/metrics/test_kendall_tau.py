"""`KendallTau` against SciPy's."""

import numpy as np
import pytest
import tensorflow as tf
from support import objects

import keras_softsort as ks

keras = objects.keras
kendalltau = pytest.importorskip("scipy.stats").kendalltau


def value(labels, scores):
    """Tau-b of the kept items, None where a list does not count."""
    kept = labels >= 0
    if len(set(labels[kept])) < 2:
        return None
    if len(set(scores[kept])) < 2:
        return 0.0
    return kendalltau(labels[kept], scores[kept]).statistic


def expected(labels, scores, weights=None):
    kept = labels >= 0
    weights = np.ones(kept.shape) if weights is None else np.broadcast_to(np.c_[weights], kept.shape)
    rows = [(value(*row), own, keep) for *row, own, keep in zip(labels, scores, weights, kept, strict=True)]
    values, per_list = zip(*[(tau, own[keep].mean()) for tau, own, keep in rows if tau is not None], strict=True)
    return np.average(values, weights=per_list)


def found(labels, predictions, sample_weight=None, **options):
    metric = ks.KendallTau(**options)
    metric.update_state(labels, predictions, sample_weight=sample_weight)
    return float(metric.result())


def random_lists(rng, batch=40, n=5):
    """Ties in both, padding anywhere, and lists that do not count."""
    labels = rng.integers(-1, 4, size=(batch, n)).astype("float32")
    labels[0], labels[1], labels[2] = -1, 2, [-1] * (n - 1) + [3]
    scores = np.round(np.maximum(labels, 0) + rng.normal(size=(batch, n)))
    scores[3] = 0.5
    return labels, scores.astype("float32")


def rank_scores(matrix):
    """Scores [batch, n], large at the first ranks, of permutation matrices [batch, rank, item]."""
    return -np.argmax(matrix, axis=1).astype("float32")


def matrices(rng, labels, **options):
    """Soft permutations whose rows are in the order of `labels`, more or less."""
    noisy = labels + rng.normal(size=labels.shape)
    return ks.ops.neural_sort(noisy.astype("float32"), 0.3, **options)


@pytest.mark.parametrize("options", [{}, {"direction": "ASCENDING"}, {"target": "ranks"}], ids=str)
def test_scores(options, rng):
    labels, scores = random_lists(rng)
    wanted = expected(labels, scores)
    assert 0.2 < wanted < 0.8
    assert found(labels, scores, **options) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("options", [{}, {"direction": "ASCENDING"}, {"target": "ranks"}], ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_matrix(options, masked, rng):
    labels, _ = random_lists(rng)
    direction = "ASCENDING" if options else "DESCENDING"
    soft = matrices(rng, labels, direction=direction, mask=labels >= 0 if masked else None)
    scores = rank_scores(ks.harden(soft).numpy()) * (-1 if options else 1)
    wanted = expected(labels, scores)
    assert 0.2 < wanted < 0.8
    assert found(labels, soft, **options) == pytest.approx(wanted, rel=1e-5)


def test_ties_within_a_row_are_hardened():
    soft = np.float32([[[0.4, 0.4, 0.2], [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]])  # the argmax of two rows is item 0
    assert found(np.float32([[3, 2, 1]]), soft) == 1


@pytest.mark.parametrize("n", [2, 7, 33])
def test_right_and_reversed_orders(n):
    labels = np.arange(n, 0, -1, dtype="float32")[np.newaxis]
    eye = np.eye(n, dtype="float32")[np.newaxis]
    for options, sign in [({}, 1), ({"direction": "ASCENDING"}, -1), ({"target": "ranks"}, -1)]:
        assert found(labels, eye, **options) == pytest.approx(sign, rel=1e-6)
        assert found(labels, eye[:, ::-1], **options) == pytest.approx(-sign, rel=1e-6)
        assert found(labels, labels * 7 - 3, **options) == pytest.approx(1, rel=1e-6)
        assert found(labels, -labels, **options) == pytest.approx(-1, rel=1e-6)


def test_infinite_scores_are_ordered():
    labels, scores = np.float32([[1, 2, 3, 4]]), np.float32([[-np.inf, 0, np.inf, np.inf]])
    assert found(labels, scores) == pytest.approx(kendalltau([1, 2, 3, 4], [0, 1, 2, 2]).statistic, rel=1e-6)


@pytest.mark.parametrize("labels", [[2, 2, 2], [-1, 5, -1], [-1, -1, -1]], ids=str)
def test_lists_without_an_order_do_not_count(labels):
    both, scores = np.float32([labels, [3, 2, 1]]), np.float32([[1, 2, 3], [3, 2, 1]])
    assert found(both, scores) == 1
    assert found(both[:1], scores[:1]) == 0
    assert found(both, np.float32(scores), sample_weight=np.float32([9, 1])) == 1


def test_constant_predictions_give_zero_and_count():
    assert found(np.float32([[3, 2, 1], [3, 2, 1]]), np.float32([[5, 5, 5], [3, 2, 1]])) == pytest.approx(0.5)


def test_nan_gives_zero_in_its_own_list_alone():
    labels = np.float32([[3, 2, 1]] * 3)
    scores, bad_labels = labels.copy(), labels.copy()
    scores[1, 2] = bad_labels[1, 0] = np.nan
    matrix = np.stack([np.eye(3)] * 3).astype("float32")
    matrix[1, 0, 2] = np.nan
    for y_true, predictions in [(labels, scores), (labels, matrix), (bad_labels, labels)]:
        assert found(y_true, predictions) == pytest.approx(2 / 3)
    padding = np.float32([[3, 2, -1]])
    assert found(padding, scores[1:2]) == 1


@pytest.mark.parametrize("shape", ["[B]", "[B, 1]", "[B, n]"])
def test_sample_weight(shape, rng):
    for _ in range(5):
        # As many lists as items: weights of lists must not end up on items.
        labels, scores = random_lists(rng, 6, 6)
        weights = rng.uniform(size={"[B]": 6, "[B, 1]": (6, 1), "[B, n]": (6, 6)}[shape]).astype("float32")
        assert found(labels, scores, weights) == pytest.approx(expected(labels, scores, weights), rel=1e-4, abs=1e-6)


def test_padding_changes_nothing(rng):
    labels, scores = random_lists(rng)
    wide = np.pad(labels, [(0, 0), (2, 3)], constant_values=-5)
    narrow = found(labels, scores)
    for fill in (100, -np.inf, np.nan):
        assert found(wide, np.pad(scores, [(0, 0), (2, 3)], constant_values=fill)) == narrow


def test_accumulates_and_resets(rng):
    labels, scores = random_lists(rng)
    metric = ks.KendallTau()
    for part in np.split(np.arange(40), [7, 30]):
        metric.update_state(labels[part], scores[part])
    assert float(metric.result()) == pytest.approx(expected(labels, scores), rel=1e-5)
    metric.reset_state()
    assert float(metric.result()) == 0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_dtypes_of_predictions(dtype, rng):
    labels, scores = random_lists(rng)
    assert found(labels, tf.cast(scores, dtype)) == pytest.approx(expected(labels, scores), rel=1e-5)


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("layer", ["matrix", "scores"])
def test_in_compile(layer, weighted, jit_compile):
    x, _ = objects.features(20, 4)
    y = np.exp(x[:, :, 0])  # which the model's scores follow
    x[:5, -1], y[5:8, 0] = objects.PAD, -1
    weights = np.arange(80, dtype="float32").reshape(20, 4)
    if layer == "matrix":
        model = objects.features_model("functional", ks.NeuralSortLayer(tau=0.7))
        loss, weights = ks.PermutationCrossEntropyLoss(), weights[:, 0]
    else:
        model = objects.features_model("functional", keras.layers.Activation("linear"))
        loss = objects.squares
    where = "weighted_metrics" if weighted else "metrics"
    model.compile("sgd", loss=loss, jit_compile=jit_compile, **{where: [ks.KendallTau(name="tau")]})
    logs = model.evaluate(x, y, sample_weight=weights, batch_size=10, verbose=0, return_dict=True)
    scores = model.predict(x, verbose=0)
    if layer == "matrix":
        scores = rank_scores(ks.harden(scores).numpy())
    labels = y.copy()
    labels[:5, -1] = -1  # the Keras mask alone says that these are padding
    wanted = expected(labels, scores, weights if weighted else None)
    assert 0.2 < wanted < 0.95
    assert logs["tau"] == pytest.approx(wanted, rel=1e-4)


def test_names_and_dtype():
    assert ks.KendallTau().name == "kendall_tau"
    assert ks.KendallTau(name="mine").name == "mine"
    assert ks.KendallTau(dtype="float64").dtype == "float64"


def test_errors():
    with pytest.raises(ValueError, match=r"target must be one of .*, got 'items'"):
        ks.KendallTau(target="items")
    with pytest.raises(ValueError, match=r"direction must be one of .*, got 'UP'"):
        ks.KendallTau(direction="UP")
    with pytest.raises(ValueError, match=r"direction must be left at 'DESCENDING' with target='ranks'"):
        ks.KendallTau(target="ranks", direction="ASCENDING")
    with pytest.raises(ValueError, match=r"y_pred must have shape .* all ranks of it, got \(1, 2, 3\)"):
        found(np.ones((1, 3)), np.ones((1, 2, 3), "float32"))
    with pytest.raises(ValueError, match=r"y_pred must have shape \[batch, n\].*\(1, 1, 1, 2, 2\)"):
        found(np.ones((1, 2)), np.ones((1, 1, 1, 2, 2), "float32"))
    with pytest.raises(TypeError, match="y_pred must be floating-point, got dtype int"):
        found(np.ones((1, 2)), np.ones((1, 2), int))


def test_missing_ranks_of_unknown_number_are_an_error():
    metric = ks.KendallTau()

    @tf.function(input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([None, None, None])])
    def update(labels, matrix):
        metric.update_state(labels, matrix)

    with pytest.raises(tf.errors.InvalidArgumentError, match="y_pred must have the same batch and list size"):
        update(np.ones((1, 3), "float32"), np.ones((1, 2, 3), "float32"))
