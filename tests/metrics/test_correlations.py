"""`KendallTau` and `SpearmanCorrelation` against SciPy."""

import resource

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats
from support import models
from support.cases.metrics import kendall_tau, spearman_correlation

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

keras = models.keras
PEERS = {file.METRICS[0].cls: file.ORACLE for file in (kendall_tau, spearman_correlation)}
metrics = pytest.mark.parametrize("metric", PEERS)


def value(metric, labels, scores):
    """The correlation of the valid items, None where a list does not count."""
    kept = labels >= 0
    if len(set(labels[kept])) < 2:
        return None
    if len(set(scores[kept])) < 2:
        return 0.0
    return PEERS[metric](labels[kept], scores[kept]).statistic


def expected(labels, scores, weights=None, metric=ks.KendallTau):
    kept = labels >= 0
    weights = np.ones(kept.shape) if weights is None else np.broadcast_to(np.c_[weights], kept.shape)
    rows = [(value(metric, *row), own, keep) for *row, own, keep in zip(labels, scores, weights, kept, strict=True)]
    values, per_list = zip(*[(tau, own[keep].mean()) for tau, own, keep in rows if tau is not None], strict=True)
    return np.average(values, weights=per_list)


def found(labels, predictions, sample_weight=None, metric=ks.KendallTau, **options):
    metric = metric(**options)
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
@metrics
def test_scores(metric, options, rng):
    labels, scores = random_lists(rng)
    wanted = expected(labels, scores, metric=metric)
    assert 0.2 < wanted < 0.8
    assert found(labels, scores, metric=metric, **options) == pytest.approx(wanted, rel=1e-5)


MODES = {
    "eager": {},
    "unknown_shape": {"input_signature": [tf.TensorSpec([None, None])] * 2},
    "xla": {"jit_compile": True},
}


@pytest.mark.parametrize(
    "mode", ["eager", *(pytest.param(mode, marks=pytest.mark.nightly) for mode in ("unknown_shape", "xla"))]
)
@metrics
def test_long_lists(metric, mode, rng):
    """Ties of several lengths, infinite scores and padding, in lists of more items than ties are searched in."""
    labels = rng.integers(-1, 90, size=(3, 1001)).astype("float32")
    scores = np.round(labels + 40 * rng.normal(size=labels.shape)).astype("float32")
    scores[0, :20], scores[1, 7:30], labels[2, 500:] = -np.inf, np.inf, -1
    scores[2, 600] = np.nan
    own = metric()
    update = own.update_state if mode == "eager" else models.traced_update(own, **MODES[mode])
    update(tf.constant(labels), tf.constant(scores))
    assert float(own.result()) == pytest.approx(expected(labels, scores, metric=metric), rel=1e-6)


@metrics
def test_lists_of_30000_items_need_no_matrix(metric, rng):
    labels = rng.normal(size=(1, 30_000)).astype("float32") ** 2
    scores = labels + rng.normal(size=labels.shape).astype("float32")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert found(labels, scores, metric=metric) == pytest.approx(expected(labels, scores, metric=metric), rel=1e-6)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 300 * 1024  # KiB; one matrix of all pairs takes 3.4 GiB in float32


@pytest.mark.slow
@metrics
def test_mean_over_std(metric, rng):
    labels, scores = random_lists(rng)
    weights = rng.uniform(size=40).astype("float32")
    own = metric(statistic="mean_over_std")
    assert float(own.result()) == 0
    update = models.traced_update(own, jit_compile=metric is ks.SpearmanCorrelation)
    for part in np.split(np.arange(40), 4):
        update(labels[part], scores[part], weights[part])
    values = [value(metric, *row) for row in zip(labels, scores, strict=True)]
    counted = [(number, weight) for number, weight in zip(values, weights, strict=True) if number is not None]
    numbers, weights = np.array(counted).T
    mean = np.average(numbers, weights=weights)
    deviation = np.sqrt(np.average((numbers - mean) ** 2, weights=weights))
    assert float(own.result()) == pytest.approx(mean / deviation, rel=1e-5)
    own.reset_state()
    own.update_state(labels[5:6], scores[5:6])
    assert float(own.result()) == 0


def test_a_small_deviation_keeps_its_digits():
    # 1,000 items that all but a few pairs order alike: correlations near 1 that differ by a few millionths.
    labels = np.tile(np.arange(1000, dtype="float32"), (4, 1))
    scores = labels.copy()
    for i in range(4):
        scores[i, : i + 1] = scores[i, : i + 1][::-1]
    values = [stats.kendalltau(*row).statistic for row in zip(labels, scores, strict=True)]
    own = found(labels.astype("float64"), scores.astype("float64"), statistic="mean_over_std")
    assert own == pytest.approx(np.mean(values) / np.std(values), rel=1e-3)


def hard_scores(labels, soft):
    """Scores [batch, n], large at the first ranks: the matrix of the valid ranks and items hardened; 0 in padding."""
    scores = np.zeros_like(labels)
    for own, label, matrix in zip(scores, labels, np.asarray(soft), strict=True):
        kept = label >= 0
        if kept.any():
            own[kept] = rank_scores(ks.ops.harden(matrix[np.newaxis, : kept.sum()][..., kept]).numpy())[0]
    return scores


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"direction": "ASCENDING"}, {"target": "ranks"}], ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_matrix(options, masked, rng):
    labels, _ = random_lists(rng)
    direction = "ASCENDING" if options else "DESCENDING"
    soft = matrices(rng, labels, direction=direction, mask=labels >= 0 if masked else None)
    wanted = expected(labels, hard_scores(labels, soft) * (-1 if options else 1))
    assert 0.2 < wanted < 0.8
    assert found(labels, soft, **options) == pytest.approx(wanted, rel=1e-5)
    # Junk in the columns and rows that padding has changes nothing.
    kept = labels >= 0
    valid = (np.arange(5) < kept.sum(axis=1, keepdims=True))[:, :, None] & kept[:, None]
    for junk in (np.nan, np.inf, 100):
        assert found(labels, np.where(valid, soft, np.float32(junk)), **options) == pytest.approx(wanted, rel=1e-5)


def test_ties_within_a_row_are_hardened():
    soft = np.float32([[[0.4, 0.4, 0.2], [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]])  # the argmax of two rows is item 0
    assert found(np.float32([[3, 2, 1]]), soft) == 1


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 33])
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
    assert found(labels, scores) == pytest.approx(stats.kendalltau([1, 2, 3, 4], [0, 1, 2, 2]).statistic, rel=1e-6)


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
        # With as many lists as items, weights of lists must not become weights of items.
        labels, scores = random_lists(rng, 6, 6)
        weights = rng.uniform(size={"[B]": 6, "[B, 1]": (6, 1), "[B, n]": (6, 6)}[shape]).astype("float32")
        assert found(labels, scores, weights) == pytest.approx(expected(labels, scores, weights), rel=1e-4, abs=1e-6)


def test_padding_changes_nothing(rng):
    labels, scores = random_lists(rng)
    wide = np.pad(labels, [(0, 0), (2, 3)], constant_values=-5)
    narrow = found(labels, scores)
    for fill in (100, -np.inf, np.nan):
        assert found(wide, np.pad(scores, [(0, 0), (2, 3)], constant_values=fill)) == narrow


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_dtypes_of_predictions(dtype, rng):
    labels, scores = random_lists(rng)
    assert found(labels, tf.cast(scores, dtype)) == pytest.approx(expected(labels, scores), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layer", "weighted", "jit_compile"),
    [
        ("matrix", True, True),
        ("scores", False, False),
        pytest.param("matrix", False, False, marks=pytest.mark.nightly),
        pytest.param("scores", True, True, marks=pytest.mark.nightly),
    ],
)
def test_in_compile(layer, weighted, jit_compile):
    x, _ = models.features(20, 4)
    y = np.exp(x[:, :, 0])  # which the model's scores follow
    x[:5, -1], y[5:8, 0] = models.PAD, -1
    weights = np.arange(80, dtype="float32").reshape(20, 4)
    if layer == "matrix":
        model = models.features_model("functional", ks.NeuralSortLayer(tau=0.7))
        loss, weights = ks.PermutationCrossEntropyLoss(), weights[:, 0]
    else:
        model = models.features_model("functional", keras.layers.Activation("linear"))
        loss = models.squares
    where = "weighted_metrics" if weighted else "metrics"
    model.compile("sgd", loss=loss, jit_compile=jit_compile, **{where: [ks.KendallTau(name="tau")]})
    logs = model.evaluate(x, y, sample_weight=weights, batch_size=10, verbose=0, return_dict=True)
    labels = y.copy()
    labels[:5, -1] = -1  # only the Keras mask says that these are padding
    scores = model.predict(x, verbose=0)
    if layer == "matrix":
        scores = hard_scores(labels, scores)
    wanted = expected(labels, scores, weights if weighted else None)
    assert 0.2 < wanted < 0.95
    assert logs["tau"] == pytest.approx(wanted, rel=1e-4)


def test_errors():
    with pytest.raises(ValueError, match=r"direction must be left at 'DESCENDING' with target='ranks'"):
        ks.KendallTau(target="ranks", direction="ASCENDING")
    with pytest.raises(ValueError, match=r"y_pred must have shape .* with all ranks, got \(1, 2, 3\)"):
        found(np.ones((1, 3)), np.ones((1, 2, 3), "float32"))
    with pytest.raises(ValueError, match=r"y_pred must have shape \[batch, n\].*\(1, 1, 1, 2, 2\)"):
        found(np.ones((1, 2)), np.ones((1, 1, 1, 2, 2), "float32"))
    with pytest.raises(TypeError, match="y_pred must be floating-point, got dtype int"):
        found(np.ones((1, 2)), np.ones((1, 2), int))


@pytest.mark.slow
def test_missing_ranks_of_unknown_number_are_an_error():
    metric = ks.KendallTau()

    @tf.function(input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([None, None, None])])
    def update(labels, matrix):
        metric.update_state(labels, matrix)

    with pytest.raises(tf.errors.InvalidArgumentError, match="y_pred must have the same batch and list size"):
        update(np.ones((1, 3), "float32"), np.ones((1, 2, 3), "float32"))
