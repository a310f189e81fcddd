"""`soft_neighbor_membership` and `dknn_loss` beside the published formula; city-block distances beside SciPy."""

import numpy as np
import pytest
import tensorflow as tf
from support import modes
from support.gradients import ATOL, RTOL, central_differences, check_gradients, fixed_weights
from support.oracles import neighbors as neighbor_oracles

import keras_softsort as ks
from keras_softsort.ops.core.distances import cityblock_distances

RNG = np.random.default_rng(4)
EMBEDDINGS, LABELS = RNG.normal(size=(8, 3)) * 0.7, np.array([0, 1, 2, 0, 1, 2, 0, 1])
QUERIES, CANDIDATES = RNG.normal(size=(2, 3, 2)), RNG.normal(size=(2, 5, 2))
MASK = np.array([[True, False, True, True, True], [False, True, True, True, False]])


def memberships(tau=1.5, k=2, mask=None, **options):
    result = np.zeros((2, 3, 5))
    for i in range(2):
        keep = np.ones(5, bool) if mask is None else mask[i]
        for j in range(3):
            result[i, j, keep] = neighbor_oracles.soft_neighbors(
                QUERIES[i, j], CANDIDATES[i, keep], k, np.broadcast_to(tau, (2, 3))[i, j], **options
            )
    return result


@pytest.mark.slow
@pytest.mark.parametrize("mode", modes.OP_MODES)
def test_membership(mode):
    wanted = memberships(mask=MASK, kind="cityblock")

    def function(queries, candidates, mask):
        return ks.ops.soft_neighbor_membership(queries, candidates, 2, 1.5, mask=mask, distance="cityblock")

    tensors = [tf.constant(QUERIES), tf.constant(CANDIDATES)]
    value, gradients = modes.run(mode, function, tensors, fixed_weights(wanted.shape), MASK)
    np.testing.assert_allclose(value, wanted, rtol=1e-10, atol=1e-14)
    assert np.all(gradients[1].numpy()[~MASK] == 0)
    truth = central_differences(
        lambda queries, candidates: function(tf.constant(queries), tf.constant(candidates), MASK).numpy(),
        [QUERIES, CANDIDATES],
        fixed_weights(wanted.shape),
    )
    for gradient, slopes in zip(gradients, truth, strict=True):
        np.testing.assert_allclose(gradient, slopes, rtol=RTOL, atol=ATOL)


def test_options_and_a_temperature_per_query():
    tau = np.array([[0.5, 1.0, 2.0], [3.0, 0.7, 1.5]])
    options = {"method": "soft_sort", "power": 2.0}
    found = ks.ops.soft_neighbor_membership(QUERIES, CANDIDATES, 2, tau, **options)
    np.testing.assert_allclose(found, memberships(tau, **options), rtol=1e-10)
    flat = ks.ops.soft_neighbor_membership(QUERIES[0], CANDIDATES[0], 2, 1.5)  # no leading axes
    np.testing.assert_allclose(flat, memberships()[0], rtol=1e-10)
    half = ks.ops.soft_neighbor_membership(tf.cast(QUERIES, tf.float16), tf.cast(CANDIDATES, tf.float16), 2, 1.5)
    assert half.dtype == tf.float16
    np.testing.assert_allclose(half, memberships(), atol=5e-3)


def test_noise():
    def sample(seed, count=4000):
        return ks.ops.soft_neighbor_membership(QUERIES, CANDIDATES, 1, 1e-5, num_samples=count, seed=seed).numpy()

    chances = np.exp(-np.sum((QUERIES[:, :, None] - CANDIDATES[:, None]) ** 2, axis=-1))
    # The mean of 4,000 samples has a standard deviation of at most 0.008.
    np.testing.assert_allclose(sample([1, 2]), chances / chances.sum(-1, keepdims=True), atol=0.03)
    np.testing.assert_array_equal(sample([1, 2], 2), sample([1, 2], 2))
    assert not np.array_equal(sample([1, 2], 2), sample([1, 3], 2))


@pytest.mark.parametrize("method", ["neural_sort", "soft_sort"])
@pytest.mark.parametrize("noise", [{}, {"num_samples": 3, "seed": [1, 2]}], ids=str)
def test_scale_makes_tau_the_same_for_distances_of_any_scale(method, noise):
    def membership(factor):
        options = {"distance": "euclidean", "method": method, "scale": "std", "mask": MASK, **noise}
        return ks.ops.soft_neighbor_membership(factor * QUERIES, factor * CANDIDATES, 2, 0.5, **options)

    for factor in (1e-2, 1e2):
        np.testing.assert_allclose(membership(factor), membership(1.0), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("objective", ["linear", "log"])
@pytest.mark.parametrize("num_queries", [None, 3])
def test_dknn_loss(num_queries, objective):
    mask = np.arange(8) != 4
    padded = np.where(mask, LABELS, -1)
    wanted = neighbor_oracles.dknn(padded, EMBEDDINGS, 2, 2.0, num_queries=num_queries)
    if objective == "log":
        wanted = -np.log(-wanted, out=np.zeros_like(wanted), where=wanted < 0)
    embeddings = tf.where(mask[:, None], EMBEDDINGS, np.nan)
    found = ks.ops.dknn_loss(embeddings, LABELS, 2, 2.0, num_queries=num_queries, mask=mask, objective=objective)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.slow
def test_gradient_of_dknn_loss():
    check_gradients(lambda e: ks.ops.dknn_loss(e, LABELS, 3, 2.0, distance="cityblock"), EMBEDDINGS)


@pytest.mark.parametrize("mode", ["eager", "xla"])
def test_cityblock_distances(mode):
    wanted = np.abs(QUERIES[:, :, None] - CANDIDATES[:, None]).sum(-1)
    tensors = [tf.constant(QUERIES), tf.constant(CANDIDATES)]
    weights = fixed_weights(wanted.shape)
    value, gradients = modes.run(mode, lambda q, c, _: cityblock_distances(q, c), tensors, weights)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    signs = np.sign(QUERIES[:, :, None] - CANDIDATES[:, None]) * weights[..., None]
    np.testing.assert_allclose(gradients[0], signs.sum(axis=2), rtol=1e-12)
    np.testing.assert_allclose(gradients[1], -signs.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"k": 5}, ValueError, "k must be below the number of candidates, 5, got 5"),
        ({"queries": QUERIES[..., :1]}, ValueError, r"must have shapes .* got \(2, 3, 1\) and \(2, 5, 2\)"),
        ({"queries": QUERIES[:1]}, ValueError, r"must have shapes .* got \(1, 3, 2\) and \(2, 5, 2\)"),
        ({"num_samples": 3}, ValueError, "num_samples and seed must be given together, got 3 and None"),
        ({"mask": MASK[:1]}, ValueError, r"mask must have the shape of candidates, \(2, 5\), got \(1, 5\)"),
    ],
)
def test_bad_memberships(arguments, error, message):
    with pytest.raises(error, match=message):
        ks.ops.soft_neighbor_membership(**{"queries": QUERIES, "candidates": CANDIDATES, "k": 2, **arguments})


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"k": 7}, ValueError, r"embeddings must hold more than 1 \+ k = 8 items, got 8"),
        ({"embeddings": EMBEDDINGS[0]}, ValueError, r"embeddings must have shape \[batch, d\], got \(3,\)"),
        ({"labels": LABELS[:4]}, ValueError, r"labels must have shape \[batch\], .*, got \(4,\)"),
    ],
)
def test_bad_dknn_losses(arguments, error, message):
    with pytest.raises(error, match=message):
        ks.ops.dknn_loss(**{"embeddings": EMBEDDINGS, "labels": LABELS, "k": 2, **arguments})


def test_a_temperature_per_query_as_a_column_with_as_many_samples():
    random = np.random.default_rng(2)
    queries, candidates = random.normal(size=(3, 2)), random.normal(size=(5, 2))
    tau = np.float64([0.5, 1.0, 4.0])
    options = {"k": 2, "num_samples": 3, "seed": [1, 2]}
    column = ks.ops.soft_neighbor_membership(queries, candidates, tau=tau[:, np.newaxis], **options)
    np.testing.assert_allclose(column, ks.ops.soft_neighbor_membership(queries, candidates, tau=tau, **options))


@pytest.mark.parametrize("mode", ["eager", "traced", pytest.param("xla", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("objective", ["linear", "log"])
def test_an_embedding_that_is_not_finite_shows_in_queries_without_a_match(objective, mode):
    """Also in its own loss, where it is the only one of its class."""
    embeddings = tf.constant([[0.0], [0.1], [1.0], [1.1], [np.nan]])
    for labels in ([0, 0, 1, 1, 2], [0, 1, 2, 3, 4]):

        def call(given, labels, **more):
            return ks.ops.dknn_loss(given, labels, k=2, tau=0.5, objective=objective, **more)

        # Labels are arguments when traced: TensorFlow 2.15 folds a product with a constant 0, even that of NaN.
        run = call if mode == "eager" else tf.function(call, jit_compile=mode == "xla", autograph=False)
        assert np.all(np.isnan(run(embeddings, tf.constant(labels))))
        masked = call(embeddings, labels, mask=[True] * 4 + [False])
        assert np.all(np.isfinite(masked))
