"""DkNNLayer beside its formula; masks, noise and bad input."""

import numpy as np
import pytest
import tensorflow as tf
from support.cases.op_case import METHODS
from support.oracles import neighbors as neighbor_oracles

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

keras = tf.keras
RNG = np.random.default_rng(2)
QUERIES, CANDIDATES = RNG.normal(size=(2, 3, 2)).astype("float32"), RNG.normal(size=(2, 5, 2)).astype("float32")
MASK = np.array([[True, False, True, True, True], [False, True, False, True, False]])


def truth(k=2, tau=1.5, queries=QUERIES, candidates=CANDIDATES, **options):
    return np.array(
        [
            [neighbor_oracles.soft_neighbors(query, own, k, tau, **options) for query in asked]
            for asked, own in zip(queries, candidates, strict=True)
        ]
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("distance", ["squared_euclidean", "euclidean", "cityblock", "cosine", "dot"])
def test_value(distance, method):
    layer = ks.DkNNLayer(2, 1.5, distance=distance, method=method)
    np.testing.assert_allclose(layer([QUERIES, CANDIDATES]), truth(kind=distance, method=method), rtol=1e-4, atol=1e-5)


def test_it_sums_to_k_and_is_hard_when_cold():
    found = ks.DkNNLayer(3, 1e-6)([QUERIES, CANDIDATES]).numpy()
    distances = np.sum((QUERIES[:, :, None] - CANDIDATES[:, None]) ** 2, axis=-1)
    np.testing.assert_allclose(found, np.argsort(np.argsort(distances)) < 3, atol=1e-6)
    np.testing.assert_allclose(ks.DkNNLayer(3, 5.0)([QUERIES, CANDIDATES]).numpy().sum(-1), 3, rtol=1e-5)


def test_masked_candidates():
    candidates = np.where(MASK[..., None], CANDIDATES, np.float32(np.nan))
    found = ks.DkNNLayer(2, 1.5)([QUERIES, candidates], mask=[None, MASK]).numpy()
    for i, keep in enumerate(MASK):
        wanted = truth(queries=QUERIES[i : i + 1], candidates=CANDIDATES[i : i + 1, keep])[0]
        np.testing.assert_allclose(found[i][:, keep], wanted, rtol=1e-4, atol=1e-5)
        assert np.all(found[i][:, ~keep] == 0)
    few = ks.DkNNLayer(4, 1.5)([QUERIES, candidates], mask=[None, MASK]).numpy()
    np.testing.assert_allclose(few.sum(-1), [[4] * 3, [2] * 3], rtol=1e-5)


def test_the_mask_of_queries_is_handed_on():
    layer, mask = ks.DkNNLayer(2), tf.constant([[True, False, True], [True, True, False]])
    np.testing.assert_array_equal(layer.compute_mask([QUERIES, CANDIDATES], [mask, None]), mask)
    assert layer.compute_mask([QUERIES, CANDIDATES], None) is None


def test_noise_in_training_alone():
    layer = ks.DkNNLayer(1, 1e-5, stochastic=True, num_samples=4000, seed=1)
    still = layer([QUERIES, CANDIDATES])
    np.testing.assert_allclose(still, truth(k=1, tau=1e-5), atol=1e-6)
    noisy = layer([QUERIES, CANDIDATES], training=True).numpy()
    chances = np.exp(-np.sum((QUERIES[:, :, None] - CANDIDATES[:, None]) ** 2, axis=-1))
    # The mean of 4,000 samples has a standard deviation of at most 0.008.
    np.testing.assert_allclose(noisy, chances / chances.sum(-1, keepdims=True), atol=0.03)
    assert not np.array_equal(layer([QUERIES, CANDIDATES], training=True), noisy)
    again = ks.DkNNLayer(1, 1e-5, stochastic=True, num_samples=4000, seed=1)
    np.testing.assert_array_equal(again([QUERIES, CANDIDATES], training=True), noisy)
    other = ks.DkNNLayer(1, 1e-5, stochastic=True, num_samples=4000, seed=2)
    assert not np.array_equal(other([QUERIES, CANDIDATES], training=True), noisy)
    plain = ks.DkNNLayer(1, 1e-5)
    np.testing.assert_array_equal(plain([QUERIES, CANDIDATES], training=True), plain([QUERIES, CANDIDATES]))


def test_what_is_not_finite_shows():
    queries = QUERIES.copy()
    queries[0, 1] = np.nan
    found = np.isnan(ks.DkNNLayer(2)([queries, CANDIDATES]).numpy())
    assert np.all(found[0, 1])
    assert np.sum(found) == 5


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(3, 2)], r"the input must be queries \[batch, q, d\] and candidates"),
        ([(3, 2), (5,)], r"the input must be queries \[batch, q, d\] and candidates"),
        ([(3, 2), (5, 3)], r"queries and candidates must have shapes .* got \(None, 3, 2\) and \(None, 5, 3\)"),
        ([(3, 2), (2, 2)], "k must be below the number of candidates, 2, got 2"),
    ],
)
def test_bad_input(shapes, message):
    with pytest.raises(ValueError, match=message):
        ks.DkNNLayer(2)([keras.Input(shape) for shape in shapes])


def test_output_shape():
    assert ks.DkNNLayer(2).compute_output_shape([(None, 3, 2), (None, 5, 2)]) == (None, 3, 5)
    inputs = [keras.Input((3, 2)), keras.Input((5, 2))]
    assert tuple(ks.DkNNLayer(2)(inputs).shape) == (None, 3, 5)


def test_power():
    options = {"method": "soft_sort", "power": 2.0}
    np.testing.assert_allclose(ks.DkNNLayer(2, 1.5, **options)([QUERIES, CANDIDATES]), truth(**options), rtol=1e-4)


def test_bad_calls():
    with pytest.raises(TypeError, match="queries must be floating-point, got dtype int32"):
        ks.DkNNLayer(2)([np.int32(QUERIES), np.int32(CANDIDATES)])
    with pytest.raises(ValueError, match=r"mask must have the shape of candidates, \(2, 5\), got \(2, 4\)"):
        ks.DkNNLayer(2)([QUERIES, CANDIDATES], mask=[None, MASK[:, :4]])
    signature = [tf.TensorSpec([None, None, 2])] * 2
    layer = ks.DkNNLayer(5)
    traced = tf.function(lambda *inputs: layer(list(inputs)), input_signature=signature)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"k must be below the number of candidates, got 5"):
        traced(QUERIES, CANDIDATES)
