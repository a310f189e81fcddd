"""`nearest_neighbors` and `neighbor_votes` beside a sort of all distances; the layer has the longer tests."""

import numpy as np
import pytest
import tensorflow as tf
from support.gradients import check_gradients
from support.oracles import neighbors as oracles

from keras_softsort import ops
from keras_softsort.ops.neighbors import _exact

RNG = np.random.default_rng(3)
REFERENCES, QUERIES = RNG.normal(size=(40, 3)), RNG.normal(size=(6, 3))
LABELS = RNG.integers(0, 4, size=40)
DISTANCES = ["squared_euclidean", "euclidean", "cityblock", "cosine", "dot"]


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("options", [{"block_size": 7}, {"approximate": True}], ids=str)
def test_neighbors_are_those_of_a_sort(distance, options):
    found = ops.nearest_neighbors(QUERIES, REFERENCES, 4, distance=distance, **options)
    for i, query in enumerate(QUERIES):
        ids, distances = oracles.nearest(query, REFERENCES, 4, distance)
        np.testing.assert_array_equal(found.neighbors[i], ids)
        np.testing.assert_allclose(found.distances[i], distances, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("distance", "jit_compile"),
    [
        *((distance, None) for distance in DISTANCES),
        pytest.param("cosine", True, marks=pytest.mark.slow),
        *(pytest.param(distance, True, marks=pytest.mark.nightly) for distance in DISTANCES if distance != "cosine"),
    ],
)
def test_few_references_have_the_neighbors_of_a_search(distance, jit_compile, monkeypatch):
    """References have copies and lie far from 0. Queries are NaN, infinite, too long, or zero."""
    references = np.float32(np.concatenate([1e4 + RNG.integers(0, 3, (60, 3)), RNG.normal(size=(27, 3))]))
    references[70] = 0
    references[82:] = references[[61, 62, 63, 64, 75]]
    queries = np.concatenate([references[[3, 61, 70, 75]], np.float32(RNG.normal(size=(5, 3)))])
    queries[4, 1], queries[5, 0], queries[6], queries[7] = np.nan, np.inf, 3e18, 1e38

    def found():
        def run(queries):
            with tf.GradientTape() as tape:
                tape.watch(queries)
                found = ops.nearest_neighbors(queries, references, 6, distance=distance)
                total = tf.reduce_sum(found.distances[:4])
            return *found, tape.gradient(total, queries)[:4]

        return tf.function(run, jit_compile=jit_compile)(tf.constant(queries))

    of_few = found()
    monkeypatch.setattr(_exact, "GATHERED_SIZE", 0)
    for ours, searched in zip(of_few, found(), strict=True):
        np.testing.assert_allclose(ours, searched, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("votes", ["count", "distance"])
def test_votes(votes):
    queries = np.concatenate([QUERIES, REFERENCES[:1]])  # the last is a reference, at distance 0
    found = ops.nearest_neighbors(queries, REFERENCES, 5)
    shares = ops.neighbor_votes(LABELS, *found, num_classes=4, votes=votes)
    for i, query in enumerate(queries):
        ids, distances = oracles.nearest(query, REFERENCES, 5)
        np.testing.assert_allclose(shares[i], oracles.votes(ids, distances, LABELS, 4, votes), rtol=1e-9)


@pytest.mark.parametrize("jit_compile", [None, pytest.param(True, marks=pytest.mark.nightly)])
def test_votes_of_infinite_distances(jit_compile):
    """Infinite distances count evenly if all are infinite, and not at all beside a finite one."""

    @tf.function(jit_compile=jit_compile, autograph=False)
    def votes(distances):
        with tf.GradientTape() as tape:
            tape.watch(distances)
            shares = ops.neighbor_votes([0, 1, 1], [[0, 1, 2]] * 3, distances, 2, votes="distance")
        return shares, tape.gradient(shares, distances, tf.constant([[1.0, 2.0]] * 3))

    shares, gradient = votes(tf.constant([[np.inf] * 3, [1.0, np.inf, np.inf], [2.0, 1.0, 1.0]]))
    np.testing.assert_allclose(shares, [[1 / 3, 2 / 3], [1, 0], [0.2, 0.8]], rtol=1e-6)
    assert np.all(np.isfinite(gradient))


def test_gradient_is_that_of_the_distances():
    check_gradients(lambda queries: ops.nearest_neighbors(queries, REFERENCES, 3).distances, QUERIES)


@pytest.mark.slow
def test_unknown_batch_xla_and_half_precision():
    run = tf.function(
        lambda queries: ops.nearest_neighbors(queries, REFERENCES, 3),
        input_signature=[tf.TensorSpec([None, None], tf.float64)],
        jit_compile=True,
    )
    wanted = ops.nearest_neighbors(QUERIES, REFERENCES, 3)
    np.testing.assert_array_equal(run(QUERIES).neighbors, wanted.neighbors)
    half = ops.nearest_neighbors(tf.cast(QUERIES, tf.float16), REFERENCES, 3)
    assert half.distances.dtype == tf.float16
    np.testing.assert_allclose(half.distances, wanted.distances, rtol=0.02)
    shares = ops.neighbor_votes(LABELS, *half, num_classes=5)
    assert shares.dtype == tf.float16
    np.testing.assert_allclose(np.sum(shares, axis=1), 1, rtol=1e-3)
    assert np.all(shares[:, 4] == 0)


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 1, 2])
def test_an_unknown_number_of_queries(count):
    traced = tf.function(
        lambda queries: ops.nearest_neighbors(queries, REFERENCES, 3),
        input_signature=[tf.TensorSpec([None, 3], tf.float64)],
    )
    found = traced(QUERIES[:count])
    assert found.neighbors.shape == found.distances.shape == (count, 3)
    for i in range(count):
        np.testing.assert_array_equal(found.neighbors[i], oracles.nearest(QUERIES[i], REFERENCES, 3)[0])


def test_no_queries_and_nan():
    assert ops.nearest_neighbors(np.zeros([0, 3]), REFERENCES, 2).neighbors.shape == (0, 2)
    queries = np.where(np.arange(6)[:, np.newaxis] == 2, np.nan, QUERIES)
    found = ops.nearest_neighbors(queries, REFERENCES, 3)
    shares = ops.neighbor_votes(LABELS, *found, num_classes=4)
    np.testing.assert_array_equal(np.isnan(found.distances).any(axis=1), np.arange(6) == 2)
    np.testing.assert_array_equal(np.isnan(shares).all(axis=1), np.arange(6) == 2)


@pytest.mark.slow
@pytest.mark.parametrize("distance", ["squared_euclidean", "cosine"])
@pytest.mark.parametrize("jit_compile", [None, pytest.param(True, marks=pytest.mark.nightly)])
def test_each_reference_leaves_itself_out(distance, jit_compile):
    references = np.concatenate([REFERENCES, REFERENCES[:3], REFERENCES[:3]])  # copies, which are neighbors
    run = tf.function(ops.nearest_neighbors, jit_compile=jit_compile, autograph=False)
    found = run(references, references, 4, distance=distance, exclude=tf.range(46))
    for i in range(46):
        others = np.delete(np.arange(46), i)
        neighbors, distances = ops.nearest_neighbors(references[i : i + 1], references[others], 4, distance=distance)
        np.testing.assert_array_equal(found.neighbors[i], others[neighbors[0]])
        np.testing.assert_allclose(found.distances[i], distances[0], rtol=1e-12, atol=1e-15)


def test_excluded_references_of_some_queries():
    wanted = ops.nearest_neighbors(QUERIES, REFERENCES, 3).neighbors.numpy()
    found = ops.nearest_neighbors(QUERIES, REFERENCES, 2, exclude=[-1, *wanted[1:, 1]]).neighbors
    np.testing.assert_array_equal(found[0], wanted[0, :2])
    np.testing.assert_array_equal(found[1:], wanted[1:, [0, 2]])
    message = "k must be at most the number of references minus the 1 that exclude can leave out, 39, got 40"
    with pytest.raises(ValueError, match=message):
        ops.nearest_neighbors(QUERIES, REFERENCES, 40, exclude=np.zeros(6, int))


@pytest.mark.parametrize("jit_compile", [None, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("k", "num_queries", "num_candidates"), [(5, 3, 128), (10, 16, 1024)])
def test_several_exclusions_per_query(k, num_queries, num_candidates, jit_compile):
    """The result is that of the factorized top k of TFRS: the largest inner products that are not excluded."""
    rng = np.random.default_rng(k)
    candidates, queries = (rng.normal(size=(size, 4)).astype("float32") for size in (num_candidates, num_queries))
    scores = queries @ candidates.T
    # The best ones, any, the same twice, and none.
    exclude = np.argsort(-scores)[:, [0, 2, k, 50, 2, 0]]
    exclude[0, 1:], exclude[1:, 5] = -1, -1
    run = tf.function(ops.nearest_neighbors, jit_compile=jit_compile, autograph=False)
    found = run(queries, candidates, k, distance="dot", exclude=exclude)
    left = scores.copy()
    for row, numbers in enumerate(exclude):
        left[row, numbers[numbers >= 0]] = -np.inf
    np.testing.assert_array_equal(found.neighbors, np.argsort(-left)[:, :k])
    np.testing.assert_allclose(-found.distances, -np.sort(-left)[:, :k], rtol=1e-5)
    with pytest.raises(ValueError, match=r"exclude must have shape \[q\] or \[q, e\] with a known e"):
        ops.nearest_neighbors(queries, candidates, k, exclude=exclude[:-1])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"k": 41}, ValueError, "k must be at most the number of references, 40, got 41"),
        ({"queries": QUERIES[0]}, ValueError, r"must have shapes \[q, d\] and \[n, d\] .*, got \(3,\) and \(40, 3\)"),
        ({"queries": QUERIES[:, :2]}, ValueError, r"queries must have shape \[q, 3\] as the references, got \(6, 2\)"),
        ({"references": LABELS}, TypeError, "references must be floating-point, got dtype int64"),
    ],
)
def test_bad_embeddings(arguments, error, message):
    with pytest.raises(error, match=message):
        ops.nearest_neighbors(**{"queries": QUERIES, "references": REFERENCES, "k": 2, **arguments})


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"labels": [0.5, 1.0]}, TypeError, "labels must hold integers, got dtype float32"),
        ({"labels": [[0, 1]]}, ValueError, r"labels must have shape \[n\], got \(1, 2\)"),
        ({"neighbors": [0, 1]}, ValueError, r"neighbors must have shape \[q, k\], got \(2,\)"),
        ({"neighbors": [[0, 9]]}, ValueError, "neighbors must be at least 0 and below 2, .*, got .*9"),
        ({"neighbors": [[-1, 0]]}, ValueError, "neighbors must be at least 0 and below 2, .*, got .*-1"),
        ({"distances": [[0.5]]}, ValueError, r"distances must have the shape of neighbors, \(1, 2\), got \(1, 1\)"),
    ],
)
def test_bad_votes(arguments, error, message):
    valid = {"labels": [0, 1], "neighbors": [[0, 1]], "distances": [[0.5, 1.0]], "num_classes": 2}
    with pytest.raises(error, match=message):
        ops.neighbor_votes(**{**valid, **arguments})
