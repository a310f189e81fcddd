"""Products keep the digits of float32 where the device rounds the factors of a matrix product; running sums."""

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort import ops
from keras_softsort.ops.core import numbers, tracing
from keras_softsort.ops.core.distances import pairwise_distances

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(2, 7, 16)).astype("f"), RNG.normal(size=(2, 5, 16)).astype("f")
LOST_BITS = {"gpu": 13, "tpu": 16}


@pytest.fixture(params=["gpu", "tpu"])
def device(request, monkeypatch):
    """A device whose matrix products round their factors as it does, with float32 numbers otherwise."""
    lost = LOST_BITS[request.param]
    multiply, multiply_vector = tf.matmul, tf.linalg.matvec

    @tf.custom_gradient
    def rounded(x):
        bits = tf.bitcast(x, tf.int32) + (1 << (lost - 1))
        return tf.bitcast(tf.bitwise.bitwise_and(bits, -(1 << lost)), tf.float32), lambda upstream: upstream

    def coarse(product):
        def run(x, y, **options):
            x, y = (rounded(each) if each.dtype == tf.float32 else each for each in map(tf.convert_to_tensor, (x, y)))
            return product(x, y, **options)

        return run

    monkeypatch.setattr(tf, "matmul", coarse(multiply))
    monkeypatch.setattr(tf.linalg, "matvec", coarse(multiply_vector))
    with tracing.lowering_for(request.param):
        yield


def relative_error(found, x=X, y=Y):
    lengths = np.linalg.norm(x, axis=-1)[..., :, None] * np.linalg.norm(y, axis=-1)[..., None, :]
    return np.max(np.abs(found - np.float64(x) @ np.float64(y).swapaxes(-1, -2)) / lengths)


def test_products_keep_their_digits(device):
    assert relative_error(tf.matmul(X, Y, transpose_b=True).numpy()) > 1e-4
    error = relative_error(numbers.inner_products(tf.constant(X), tf.constant(Y)).numpy())
    assert error < numbers.product_error(tf.float32) == 2**-15
    assert numbers.product_error(tf.float64) == 0


def test_derivatives_are_those_of_the_product(device):
    x, y = tf.constant(X), tf.constant(Y)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        total = tf.reduce_sum(numbers.inner_products(x, y) ** 2) / 2
    found = tape.gradient(total, [x, y])
    product = X @ Y.swapaxes(-1, -2)
    for gradient, right in zip(found, [product @ Y, product.swapaxes(-1, -2) @ X], strict=True):
        np.testing.assert_allclose(gradient, right, rtol=0.02, atol=0.05)


@pytest.mark.parametrize("transpose", [False, True])
def test_products_with_vectors_keep_their_digits(device, transpose):
    matrix, vector = np.swapaxes(X, 1, 2) if transpose else X, RNG.normal(size=(2, 16)).astype("f")
    found = numbers.vector_product(tf.constant(matrix), tf.constant(vector), transpose=transpose)
    np.testing.assert_allclose(found, np.einsum("bmn,bn->bm", np.float64(X), vector), atol=1e-5)


@pytest.mark.parametrize("columns", [5, 20])
def test_sums_of_outer_products_keep_their_digits(device, columns):
    left, right = ([RNG.normal(size=(2, n)).astype("f") for _ in range(3)] for n in (7, columns))
    found = numbers.sum_of_outer_products(*([tf.constant(each) for each in vectors] for vectors in (left, right)))
    np.testing.assert_allclose(found, np.einsum("lbm,lbn->bmn", np.float64(left), right), atol=3e-4)


@pytest.mark.parametrize("implicit", [False, True])
def test_sinkhorn_keeps_its_digits(device, implicit):
    scores, weights = RNG.normal(size=(2, 2, 30, 30))

    def run(scores):
        tolerance = 1e-6 if implicit else None
        with tf.GradientTape() as tape:
            tape.watch(scores)
            found = ops.sinkhorn(scores, 0.5, num_iterations=100, tolerance=tolerance, implicit_gradient=implicit)
            total = tf.reduce_sum(found * tf.cast(weights, found.dtype))
        return found, tape.gradient(total, scores)

    rounded, right = (tf.function(run, autograph=False)(tf.constant(scores, dtype)) for dtype in ("float32", "float64"))
    np.testing.assert_allclose(tf.reduce_sum(rounded[0], axis=2), np.ones([2, 30]), atol=1e-5)
    np.testing.assert_allclose(rounded[0], right[0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(rounded[1], right[1], rtol=1e-3, atol=2e-5)


@pytest.mark.slow
def test_neighbors_and_distances_keep_their_digits(device):
    queries, references = (RNG.normal(size=(n, 16)).astype("f") for n in (20, 2000))
    exact = np.sum((np.float64(queries)[:, None] - references) ** 2, axis=-1)
    # A graph of its own, since eager calls share theirs with other devices.
    found = tf.function(lambda x, y: ops.nearest_neighbors(x, y, 5), autograph=False)(queries, references)
    np.testing.assert_array_equal(found.neighbors, np.argsort(exact, axis=-1)[:, :5])
    distances = pairwise_distances(tf.constant(queries), tf.constant(references), "squared_euclidean")
    np.testing.assert_allclose(distances, exact, atol=2e-3)


def test_switched_off_it_is_one_product(device):
    enabled = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(False)
    try:
        found = numbers.inner_products(tf.constant(X), tf.constant(Y))
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(enabled)
    np.testing.assert_array_equal(found, tf.matmul(X, Y, transpose_b=True))


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("size", [0, 1, 4, 5, 20, 101, None])
@pytest.mark.parametrize("ways", [{}, {"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}])
def test_running_sums_of_one_block_and_of_blocks_of_blocks(ways, size, jit, rng, monkeypatch):
    monkeypatch.setattr(numbers, "BLOCK_OF_SUMS", 4)
    values, weights = rng.normal(size=[2, 3, 7 if size is None else size])

    def run(values):
        with tf.GradientTape() as tape:
            tape.watch(values)
            sums = numbers.running_sums(values, **ways)
            total = tf.reduce_sum(sums * weights)
        return sums, tape.gradient(total, values)

    signature = [tf.TensorSpec([None, size], tf.float64)]
    sums, gradient = tf.function(run, jit_compile=jit, autograph=False, input_signature=signature)(values)
    counts = np.tri(values.shape[1], k=-1 if "exclusive" in ways else 0)  # [sum, value]
    counts = counts.T if "reverse" in ways else counts
    np.testing.assert_allclose(sums, values @ counts.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradient, weights @ counts, rtol=1e-12, atol=1e-12)
