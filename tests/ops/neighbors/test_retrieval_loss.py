"""`retrieval_loss` beside its formulas; `test_retrieval_limits.py` has its limits as tau goes to 0."""

import numpy as np
import pytest
import tensorflow as tf
from support import modes
from support.cases.neighbors.retrieval_loss import METRIC_OPTIONS
from support.gradients import fixed_weights
from support.oracles import neighbors as neighbor_oracles
from support.oracles import retrieval as retrieval_oracles

import keras_softsort as ks

RNG = np.random.default_rng(6)
LABELS = np.array([0, 1, 2, 0, 1, 0, 0, 1, 3])
EMBEDDINGS = RNG.normal(size=(9, 3))
QUERIES, CANDIDATES = RNG.normal(size=(4, 3)), RNG.normal(size=(7, 3))
QUERY_LABELS, CANDIDATE_LABELS = np.array([0, 1, 2, 3]), np.array([0, 1, 0, 2, 1, 1, 0])
every_metric = pytest.mark.parametrize("options", METRIC_OPTIONS, ids=str)


def similarities(query, candidates, distance="cosine"):
    return np.array([-neighbor_oracles.distance(query, candidate, distance) for candidate in candidates])


def in_batch(embeddings=EMBEDDINGS, labels=LABELS, mask=None, *, distance="cosine", oracle=None, **options):
    """The truth of each query among the others of its batch."""
    valid = np.ones(len(labels), bool) if mask is None else mask
    oracle, found = oracle or retrieval_oracles.soft_metric, np.zeros(len(labels))
    for i in np.flatnonzero(valid):
        others = np.flatnonzero(valid & (np.arange(len(labels)) != i))
        found[i] = oracle(
            similarities(embeddings[i], embeddings[others], distance), labels[others] == labels[i], **options
        )
    return found


@every_metric
def test_values_and_gradients(options):
    def function(embeddings):
        return -ks.ops.retrieval_loss(embeddings, labels=LABELS, tau=0.3, **options)

    values, gradient = with_gradient(function, EMBEDDINGS)
    np.testing.assert_allclose(values, in_batch(tau=0.3, **options), rtol=1e-9)
    # Along a random direction, so that the traces of the operator serve.
    direction, step = np.random.default_rng(1).normal(size=EMBEDDINGS.shape), 1e-6
    above, below = (function(tf.constant(EMBEDDINGS + each * direction)) for each in (step, -step))
    slope = np.sum(fixed_weights(9) * (above - below)) / (2 * step)
    assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-6)


def with_gradient(function, array):
    tensor = tf.constant(array)
    with tf.GradientTape() as tape:
        tape.watch(tensor)
        values = function(tensor)
    return values.numpy(), tape.gradient(values, tensor, output_gradients=fixed_weights(9)).numpy()


def test_distances():
    options = {"distance": "squared_euclidean", "metric": "ndcg", "k": 2, "tau": 2.0}
    found = -ks.ops.retrieval_loss(EMBEDDINGS, labels=LABELS, **options)
    np.testing.assert_allclose(found, in_batch(**options), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("mode", modes.OP_MODES)
def test_modes_masks_and_temperatures(mode):
    mask = np.array([True, True, False, True, True, True, True, False, True])
    tau, options = np.linspace(0.2, 1.0, 9), {"metric": "average_precision", "k": 3}

    def function(embeddings, tau, mask):
        return -ks.ops.retrieval_loss(embeddings, labels=LABELS, tau=tau, mask=mask, **options)

    tensors = [tf.constant(EMBEDDINGS), tf.constant(tau)]
    value, gradients = modes.run(mode, function, tensors, fixed_weights(9), mask)
    wanted = [in_batch(mask=mask, tau=each, **options)[i] for i, each in enumerate(tau)]
    np.testing.assert_allclose(value, wanted, rtol=1e-9)
    assert np.all(gradients[0].numpy()[~mask] == 0)
    above, below = (function(EMBEDDINGS, tau + each, mask) for each in (1e-6, -1e-6))
    np.testing.assert_allclose(gradients[1], fixed_weights(9) * (above - below) / 2e-6, rtol=1e-6, atol=1e-9)
    _, eager = modes.run("op_by_op", function, tensors, fixed_weights(9), mask)
    for found, expected in zip(gradients, eager, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", METRIC_OPTIONS[::5], ids=str)
def test_two_sets_by_labels_and_by_rows(options):
    found = -ks.ops.retrieval_loss(
        QUERIES, CANDIDATES, labels=QUERY_LABELS, candidate_labels=CANDIDATE_LABELS, tau=0.3, **options
    )
    wanted = [
        retrieval_oracles.soft_metric(similarities(query, CANDIDATES), label == CANDIDATE_LABELS, tau=0.3, **options)
        for query, label in zip(QUERIES, QUERY_LABELS, strict=True)
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    rows = -ks.ops.retrieval_loss(QUERIES, CANDIDATES[:4], tau=0.3, **options)
    by_number = {"labels": np.arange(4), "candidate_labels": np.arange(4)}
    np.testing.assert_allclose(
        rows, -ks.ops.retrieval_loss(QUERIES, CANDIDATES[:4], tau=0.3, **by_number, **options), rtol=1e-12
    )


def test_own_rows_are_left_out_of_more_candidates():
    more = np.concatenate([EMBEDDINGS, CANDIDATES])
    labels = np.concatenate([LABELS, CANDIDATE_LABELS])
    found = -ks.ops.retrieval_loss(EMBEDDINGS, more, labels=LABELS, candidate_labels=labels, tau=0.3, exclude_self=True)
    np.testing.assert_allclose(found, in_batch(more, labels, tau=0.3, metric="average_precision")[:9], rtol=1e-9)


def test_rows_of_classes():
    rows = np.eye(4)[LABELS]
    found = -ks.ops.retrieval_loss(EMBEDDINGS, labels=rows)
    np.testing.assert_allclose(found, -ks.ops.retrieval_loss(EMBEDDINGS, labels=LABELS), rtol=1e-12)
    rows[:, 3] = 1  # a class that all share
    np.testing.assert_allclose(-ks.ops.retrieval_loss(EMBEDDINGS, labels=rows), 1, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["traced", "unknown_shape"])
def test_classes_of_different_sizes(mode):
    embeddings, labels = RNG.normal(size=(23, 3)), np.array([0] * 19 + [1] * 3 + [2])

    def function(embeddings, _):
        return -ks.ops.retrieval_loss(embeddings, labels=labels, tau=0.3)

    value, gradients = modes.run(mode, function, [tf.constant(embeddings)], np.ones(23))
    np.testing.assert_allclose(value, in_batch(embeddings, labels, metric="average_precision", tau=0.3), rtol=1e-9)
    _, plain = modes.run("op_by_op", function, [tf.constant(embeddings)], np.ones(23))
    np.testing.assert_allclose(gradients[0], plain[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", METRIC_OPTIONS[1::2] + METRIC_OPTIONS[:1], ids=str)
def test_ties_and_classes_of_one_have_finite_gradients(options):
    embeddings = tf.constant(np.float32([[1, 0], [1, 0], [1, 0], [0, 1], [0, 0], [0, 0]]))
    labels = np.array([0, 0, 1, 1, 2, 3])
    with tf.GradientTape() as tape:
        tape.watch(embeddings)
        value = -ks.ops.retrieval_loss(embeddings, labels=labels, tau=1e-6, **options)
    gradient = tape.gradient(value, embeddings)
    assert np.all(np.isfinite(gradient))
    assert np.all(value[4:] == 0)
    assert np.all((value.numpy() >= 0) & (value.numpy() <= 1 + 1e-6))
    if options == {"metric": "average_precision"}:
        # Two tied candidates both have rank 1.5: each stands half above the other.
        assert float(value[0]) == pytest.approx(1 / 1.5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype):
    embeddings = tf.cast(EMBEDDINGS, dtype)
    found = -ks.ops.retrieval_loss(embeddings, labels=LABELS)
    assert found.dtype == embeddings.dtype
    wanted = -ks.ops.retrieval_loss(tf.cast(embeddings, tf.float32), labels=LABELS)
    np.testing.assert_allclose(tf.cast(found, tf.float32), wanted, atol=4e-3)


def test_what_is_not_a_number_shows():
    embeddings = np.where(np.arange(9)[:, None] == 2, np.nan, EMBEDDINGS)
    found = -ks.ops.retrieval_loss(embeddings, labels=np.where(LABELS == 2, 0, LABELS))
    assert np.all(np.isnan(found[:8]))
    padded = -ks.ops.retrieval_loss(embeddings, labels=LABELS, mask=np.arange(9) != 2)
    np.testing.assert_allclose(padded, in_batch(mask=np.arange(9) != 2, metric="average_precision", tau=0.05))
    labels = np.where(np.arange(9) == 2, np.nan, LABELS.astype(float))
    assert np.all(np.isnan(-ks.ops.retrieval_loss(EMBEDDINGS, labels=labels)))


@pytest.mark.parametrize("distance", ["dot", "cityblock", "euclidean", "cosine"])
@pytest.mark.parametrize("metric", ["average_precision", "mrr", "ndcg"])
def test_an_infinite_candidate_shows(distance, metric):
    candidates, options = [[1.0, 0.0], [0.5, 1.0], [np.inf, 0.0]], {"metric": metric, "distance": distance}
    labels = {"labels": [1], "candidate_labels": [1, 1, 2]}
    assert np.all(np.isnan(ks.ops.retrieval_loss([[1.0, 0.0]], candidates, **labels, **options)))
    left_out = ks.ops.retrieval_loss([[1.0, 0.0]], candidates, candidate_mask=[True, True, False], **labels, **options)
    assert np.all(np.isfinite(left_out))


@pytest.mark.parametrize(
    ("labels", "others"),
    [
        ([1], [1.5, 2.0]),
        (np.uint8([0]), [256, 5]),
        (np.int32([1]), np.int64([1 + 2**32, 7])),
        (np.float16([2048]), np.float32([2049, 1])),
    ],
)
def test_different_classes_stay_different_in_other_dtypes(labels, others):
    query, candidates = [[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]
    found = ks.ops.retrieval_loss(query, candidates, labels=labels, candidate_labels=others)
    np.testing.assert_array_equal(found, [0])
    assert ks.ops.retrieval_loss(query, candidates, labels=labels, candidate_labels=[labels[0] / 1, 9.5])[0] < -0.9


def test_a_nan_among_candidate_labels_shows():
    found = ks.ops.retrieval_loss([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], labels=[1], candidate_labels=[1.0, np.nan])
    assert np.all(np.isnan(found))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"k": 10}, ValueError, "k must be at most the number of candidates, got 10 for 9"),
        ({"metric": "recall"}, ValueError, "k must be given with metric='recall', got None"),
        ({"labels": None}, ValueError, "labels, and no candidate_labels, must be given without candidates"),
        ({"labels": LABELS[:4]}, ValueError, r"labels must have shape .* batch 9 .*, got \(4,\)"),
        ({"mask": LABELS[:4] > 0}, ValueError, r"mask must have shape \(9,\), got \(4,\)"),
        ({"candidates": CANDIDATES}, ValueError, "labels and candidate_labels must be given together"),
        (
            {"candidates": CANDIDATES, "labels": None},
            ValueError,
            "without labels candidates must be as many as queries, got 9 7",
        ),
        ({"candidates": CANDIDATES[:, :2]}, ValueError, r"queries and candidates must have shapes \[q, d\] and"),
        (
            {"candidates": CANDIDATES, "candidate_labels": np.eye(4)[CANDIDATE_LABELS]},
            ValueError,
            r"must both be classes, or rows .*, got shapes \(9,\) and \(7, 4\)",
        ),
        ({"queries": EMBEDDINGS[0]}, ValueError, r"queries must be embeddings \[batch, d\], got shape \(3,\)"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        -ks.ops.retrieval_loss(**{"queries": EMBEDDINGS, "labels": LABELS, **arguments})
