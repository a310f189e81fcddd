"""Products without the matrix: the dense oracle's values and gradients, exactness of the band, edges, long lists."""

import numpy as np
import pytest
import tensorflow as tf
from support import modes
from support.gradients import fixed_weights, tape_gradients
from support.oracles import sorting as oracles

import keras_softsort as ks
from keras_softsort.ops.core.decay_scan import decay_scan
from keras_softsort.ops.sorting import dispatch, methods
from keras_softsort.ops.sorting._matrix_free.block_sums import BLOCK, blocks_of
from keras_softsort.ops.sorting._matrix_free.neural_sort import neural_sort_band
from keras_softsort.ops.sorting._matrix_free.products import MatrixFree
from keras_softsort.ops.sorting.methods import sort_arguments

# Two whole blocks and a part.
SIZE = 2 * BLOCK + 22
METHODS = ["neural_sort", "soft_sort"]
each_method = pytest.mark.parametrize("method", METHODS)


def without_matrix(method, min_size=0):
    """Register `method` once more, with products that need no matrix from `min_size` items on; its name."""
    known = methods.METHODS[method]
    name = f"{method} from {min_size} items"
    if name not in methods.names():
        products = known.matrix_free._replace(min_size=min_size)
        methods.register(known._replace(name=name, matrix_free=products))
    return name


@pytest.fixture(scope="module", autouse=True)
def registered():
    before = methods.names()
    yield
    for name in set(methods.names()) - set(before):
        del methods.METHODS[name]


def random_lists(kind="normal", lists=2, size=SIZE, seed=0):
    scores = np.random.default_rng(seed).normal(size=(lists, size))
    # Ties across the ends of blocks; scores far from 0 and from each other.
    return {"normal": scores, "ties": np.round(3 * scores) / 3, "far": 1e4 + 100 * scores}[kind]


def products(scores, tau, values, ranks, mask=None, *, method):
    """P v of values of the items, and P^T u of numbers of the ranks, without the matrix whatever the size."""
    args = sort_arguments(scores, tau, mask=mask, method=without_matrix(method))
    forward = dispatch.multiply(args, values)
    return tf.concat([forward, dispatch.multiply_transposed(args, ranks)], axis=-1)


def dense_products(scores, tau, values, ranks, mask=None, *, method):
    matrix = dispatch.permutation(sort_arguments(scores, tau, mask=mask, method=method))
    if mask is not None:
        values = tf.where(mask[:, :, tf.newaxis], values, tf.zeros_like(values))
    forward, backward = matrix @ values, tf.matmul(matrix, ranks, transpose_a=True)
    if mask is not None:
        backward = tf.where(mask[:, :, tf.newaxis], backward, tf.zeros_like(backward))
    return tf.concat([forward, backward], axis=-1)


def case(kind="normal", dtype="float64"):
    """Scores, temperature, values and numbers of ranks; weights of the results."""
    random = np.random.default_rng(1)
    tensors = [random_lists(kind), 0.7, random.normal(size=(2, SIZE, 2)), random.normal(size=(2, SIZE, 1))]
    return [tf.constant(each, dtype) for each in tensors], fixed_weights((2, SIZE, 3))


@pytest.fixture(scope="module")
def mask():
    return np.random.default_rng(2).random((2, SIZE)) < [[0.8], [0.4]]


@pytest.mark.parametrize("kind", ["normal", "ties", "far"])
@each_method
def test_values_are_the_oracles(method, kind):
    scores = random_lists(kind)
    matrix = oracles.permutation(scores, 0.7, method=method)
    (_, _, values, ranks), _ = case()
    found = products(tf.constant(scores), 0.7, values, ranks, method=method)
    wanted = np.concatenate([matrix @ values, np.swapaxes(matrix, 1, 2) @ ranks], axis=-1)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", ["normal", "ties"])
@each_method
def test_gradients_are_the_dense_engines(method, kind, masked, mask):
    tensors, weights = case(kind)
    kept = mask if masked else None
    found, gradients = tape_gradients(lambda *args: products(*args, kept, method=method), tensors, weights)
    wanted, truths = tape_gradients(lambda *args: dense_products(*args, kept, method=method), tensors, weights)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    if masked:  # numbers of masked ranks weigh nothing here and spread over masked items there
        valid = np.arange(SIZE) < mask.sum(axis=1, keepdims=True)
        gradients[3], truths[3] = (tf.where(valid[:, :, np.newaxis], each, 0.0) for each in (gradients[3], truths[3]))
    for gradient, truth in zip(gradients, truths, strict=True):
        np.testing.assert_allclose(gradient, truth, rtol=1e-7, atol=1e-9)


# `test_gpu_lowering` lowers them for XLA.
@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["unknown_shape", "xla"])
@each_method
def test_modes(method, mode):
    tensors, weights = case()

    def function(*args):
        return products(*args[:4], method=method)

    found, gradients = modes.run(mode, function, tensors, weights)
    wanted, truths = tape_gradients(function, tensors, weights)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    for gradient, truth in zip(gradients, truths, strict=True):
        np.testing.assert_allclose(gradient, truth, rtol=1e-7, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("tau", [0.05, pytest.param(1.0, marks=pytest.mark.nightly), 100.0])
@each_method
def test_float32_is_near_float64(method, tau):
    (scores, _, values, ranks), weights = case("normal", "float32")
    wide = [tf.cast(each, tf.float64) for each in (scores, values, ranks)]

    def both(scores, values, ranks):
        return tape_gradients(
            lambda s: products(s, tau, values, ranks, method=method), [scores], tf.cast(weights, scores.dtype)
        )

    found, (gradient,) = both(scores, values, ranks)
    wanted, (truth,) = both(*wide)
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    np.testing.assert_allclose(gradient, truth, atol=3e-5 * np.abs(truth).max())


@pytest.mark.parametrize("tau", [0.003, 0.1, 3.0])
def test_the_band_holds_what_matters_and_no_more(tau):
    """Counted against the drops of every pair: a block is visited if one within the cut is in it, and it alone."""
    size, cut = 8 * BLOCK, 20.0
    x = np.sort(np.random.default_rng(0).normal(size=size))[::-1] / tau
    gaps = np.minimum(x[:-1] - x[1:], cut)
    linear, total = (np.concatenate([[0], np.cumsum(g)]) for g in ((2 * np.arange(size - 1) + 1) * gaps, gaps))
    rows = np.arange(size)[:, np.newaxis]
    drops = (linear - linear[:, np.newaxis]) - 2 * rows * (total - total[:, np.newaxis])
    needed = (drops <= cut).reshape(8, BLOCK, 8, BLOCK).any(axis=(1, 3))
    scores = tf.constant(x[np.newaxis])
    band = neural_sort_band(blocks_of(scores), scores, tf.constant(cut, tf.float64), tf.float64)
    for window, wanted in ((band.columns_of, needed), (band.rows_of, needed.T)):
        first, count = window.first.numpy(), window.count.numpy()
        visited = [[first[b] <= other < first[b] + count[b] for other in range(8)] for b in range(8)]
        np.testing.assert_array_equal(visited, wanted)


def test_blocks_visited_grow_with_the_list_not_with_its_square():
    def visited(size):
        scores = tf.constant(-np.arange(size, dtype="float64")[np.newaxis])
        window = neural_sort_band(blocks_of(scores), scores, tf.constant(30.0, tf.float64), tf.float64).columns_of
        return int(tf.reduce_sum(window.count))

    assert visited(64 * BLOCK) == 3 * 64 - 2
    assert visited(512 * BLOCK) == 3 * 512 - 2


@pytest.mark.parametrize("eps", [1e-2, 1e-5])
def test_eps_bounds_what_is_left_out(eps):
    scores, values = tf.constant(random_lists(size=SIZE)), np.ones((2, SIZE, 1))
    values[:, ::2] = -1
    rough = ks.linalg.LinearOperatorNeuralSort(scores, 0.01, eps=eps)
    args = sort_arguments(scores, 0.01, method=without_matrix("neural_sort"))
    found = dispatch.multiply(args, tf.constant(values), eps=eps)
    error = np.abs(found - oracles.neural_sort(scores, 0.01) @ values).max()
    assert 0 < error <= 2 * eps
    assert rough.eps == eps


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("tau", [1e-30, 1e30])
@each_method
def test_finite_at_any_size(method, tau, scale):
    scores = tf.constant(scale * random_lists("ties"), tf.float32)
    (_, _, values, ranks), weights = case(dtype="float32")
    found, gradients = tape_gradients(
        lambda s: products(s, tau, values, ranks, method=method), [scores], tf.cast(weights, tf.float32)
    )
    assert np.isfinite(found).all()
    assert np.isfinite(gradients[0]).all()


@pytest.mark.slow
@each_method
def test_what_is_no_number_spoils_its_own_list_alone(method, mask):
    (scores, tau, values, ranks), weights = case()
    spoilt = scores.numpy()
    spoilt[1, 3], mask = np.nan, mask.copy()
    mask[1, 3] = True
    for kept in (None, mask):
        found, (gradient,) = tape_gradients(
            lambda s, kept=kept: products(s, tau, values, ranks, kept, method=method), [tf.constant(spoilt)], weights
        )
        clean, (slopes,) = tape_gradients(
            lambda s, kept=kept: products(s, tau, values, ranks, kept, method=method), [scores], weights
        )
        np.testing.assert_array_equal(found[0], clean[0])
        np.testing.assert_array_equal(gradient[0], slopes[0])
        assert np.isnan(found[1, 0, :2]).all()  # the first rank
        assert np.isnan(found[1, 3, 2])  # a valid item
        assert np.isnan(gradient[1]).any()


@pytest.mark.slow
@each_method
def test_all_masked(method):
    (scores, tau, values, ranks), weights = case()
    mask = np.zeros((2, SIZE), bool)
    mask[0] = True
    found, gradients = tape_gradients(
        lambda *args: products(*args, mask, method=method), [scores, tau, values, ranks], weights
    )
    np.testing.assert_array_equal(found[1], 0)
    for gradient in (gradients[0], gradients[2], gradients[3]):
        np.testing.assert_array_equal(gradient[1], 0)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 300])
def test_decayed_sums(size):
    random = np.random.default_rng(size)
    places, values = np.sort(3 * random.normal(size=(2, size))), random.normal(size=(2, 3, size))
    wanted = values.copy()
    for i in range(1, size):
        wanted[:, :, i] += np.exp(places[:, i - 1] - places[:, i])[:, np.newaxis] * wanted[:, :, i - 1]
    np.testing.assert_allclose(decay_scan(tf.constant(places), tf.constant(values)), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode", ["known", *(pytest.param(mode, marks=pytest.mark.nightly) for mode in ("unknown", "unknown xla"))]
)
def test_operators_take_the_engine_for_their_size(mode, monkeypatch):
    """On either side of the crossover, which is moved to where both are quick, results agree to rounding."""
    method = without_matrix("neural_sort", 80)
    taken, multiply = [], MatrixFree.multiply
    monkeypatch.setattr(MatrixFree, "multiply", lambda *args: taken.append(1) or multiply(*args))
    weights = fixed_weights((2, 80))
    for size in (79, 80):
        scores = tf.constant(random_lists(size=size))

        def both(scores, weights=weights[:, :size]):
            return tape_gradients(
                lambda s: dispatch.sorted_scores(sort_arguments(s, 0.5, method=method)), [scores], weights
            )

        taken.clear()
        shape = scores.shape if mode == "known" else [None, None]
        signature = [tf.TensorSpec(shape, tf.float64)]
        jit = True if mode == "unknown xla" else None
        found, (gradient,) = tf.function(both, input_signature=signature, jit_compile=jit, autograph=False)(scores)
        assert bool(taken) == (mode != "known" or size == 80)
        np.testing.assert_allclose(found, oracles.soft_values(scores, 0.5), rtol=1e-9)
        args = sort_arguments(scores, 0.5)
        _, (truth,) = tape_gradients(
            lambda s, args=args: tf.linalg.matvec(dispatch.permutation(args._replace(scores=s)), s),
            [scores],
            weights[:, :size],
        )
        np.testing.assert_allclose(gradient, truth, rtol=1e-7, atol=1e-9)


@pytest.mark.slow
def test_a_long_list():
    """A list whose matrix would take 10 GB in float32: sorted values, ranks and gradients of both engines."""
    size = 50_000
    scores = tf.random.stateless_normal([1, size], [1, 2])
    wanted = tf.sort(scores, direction="DESCENDING")
    for method, tau in (("neural_sort", 1e-3), ("soft_sort", 1e-4)):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            found = ks.soft_values(scores, tau, method=method)
        gradient = tape.gradient(found, scores)
        np.testing.assert_allclose(found, wanted, atol=2e-3)
        assert np.isfinite(gradient).all()
        assert float(tf.reduce_sum(gradient)) == pytest.approx(size, rel=1e-3)  # values move with their scores
