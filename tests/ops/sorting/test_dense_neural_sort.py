"""The matrix of short lists, compared with themselves, and that of longer ones, which are sorted, are the same."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from support import modes
from support.gradients import central_differences, fixed_weights
from support.oracles import sorting as oracles

from keras_softsort.ops._core.thresholds import Thresholds
from keras_softsort.ops.sorting import _dispatch
from keras_softsort.ops.sorting._arguments import sort_arguments
from keras_softsort.ops.sorting._dense import matrix_sums, two_parts

pytestmark = pytest.mark.default_stack_only

LISTS = {
    "plain": np.random.default_rng(1).normal(size=(3, 9)),
    "tied": np.random.default_rng(2).integers(0, 3, size=(3, 9)) / 2.0,
    "far from 0": 1e6 + np.random.default_rng(3).normal(size=(3, 9)),
    "wide": 1e6 * np.random.default_rng(4).normal(size=(3, 9)),
}
MASK = np.arange(9) < [[9], [5], [0]]
each_way = pytest.mark.parametrize("most", [0, 9], ids=["sorted", "compared"])


def matrix(scores, tau, mask, most, top_k=None):
    """NeuralSort's matrix, of lists that are compared with themselves up to `most` items."""
    thresholds = Thresholds(pairwise_max_size=most, pairwise_max_size_top_k=most)
    return _dispatch.permutation(sort_arguments(scores, tau, mask=mask, thresholds=thresholds), top_k)


CASES = [
    *itertools.product(LISTS, [False, True], [None, 4], ["op_by_op"]),
    pytest.param(("plain", False, 4, "xla"), marks=pytest.mark.nightly),
    ("plain", True, None, "xla"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@each_way
def test_matrix_and_gradient(most, case):
    kind, masked, top_k, mode = case
    scores, tau, mask = LISTS[kind], np.float64(0.8), MASK if masked else None
    weights = fixed_weights([3, top_k or 9, 9])

    def ours(scores, tau, mask):
        return matrix(scores, tau, mask, most, top_k)

    def formula(scores, tau):
        return oracles.neural_sort(scores, tau, mask=mask)[:, :top_k]

    value, gradients = modes.run(mode, ours, [tf.constant(scores), tf.constant(tau)], weights, mask)
    np.testing.assert_allclose(value, formula(scores, tau), rtol=1e-7, atol=1e-9)
    if kind == "plain":
        for found, truth in zip(gradients, central_differences(formula, [scores, tau], weights), strict=True):
            np.testing.assert_allclose(found, truth, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("mask", [None, MASK], ids=["", "masked"])
@pytest.mark.parametrize("kind", ["tied", "far from 0", "wide"])
def test_gradients_are_the_same_either_way(kind, mask):
    tensors, weights, found = [tf.constant(LISTS[kind]), tf.constant(0.8, tf.float64)], fixed_weights([3, 9, 9]), []
    for most in (0, 9):
        run = modes.run("op_by_op", lambda *args, most=most: matrix(*args, most), tensors, weights, mask)
        found.append(run[1])
    for by_sorting, by_comparing in zip(*found, strict=True):
        np.testing.assert_allclose(by_comparing, by_sorting, rtol=1e-6, atol=1e-9)
    assert kind == "wide" or np.max(np.abs(found[0][0])) > 1e-3


@pytest.mark.parametrize("most", [0, 40], ids=["sorted", "compared"])
@pytest.mark.parametrize(
    ("keeps_digits", "jit_compile", "masked"),
    [(True, None, True), (False, None, False), pytest.param(True, True, False, marks=pytest.mark.nightly)],
)
def test_float32_where_products_are_rounded_or_not(most, keeps_digits, jit_compile, masked, monkeypatch):
    """On GPUs, sums over rows and columns are no products of matrices."""
    monkeypatch.setattr(matrix_sums, "products_keep_digits", lambda dtype: keeps_digits or dtype == tf.float64)
    random, twins = np.random.default_rng(5), [3, 39]
    scores, weights = 1000 + random.normal(size=(2, 40)).astype(np.float32), random.normal(size=(2, 40, 40))
    scores[:, 39], weights[:, :, 39] = scores[:, 3], weights[:, :, 3]
    mask = np.arange(40) % 7 > 0 if masked else np.full(40, True)
    mask[twins] = True

    @tf.function(jit_compile=jit_compile, autograph=False)
    def value_and_gradients(scores, weights):
        tau = tf.constant(0.8, scores.dtype)
        items = tf.broadcast_to(mask, scores.shape) if masked else None
        with tf.GradientTape() as tape:
            tape.watch([scores, tau])
            found = matrix(scores, tau, items, most)
        return found, *tape.gradient(found, [scores, tau], output_gradients=weights)

    value, *found = value_and_gradients(tf.constant(scores), tf.constant(weights, tf.float32))
    expected, *truth = value_and_gradients(
        *(tf.constant(each.astype(np.float32), tf.float64) for each in (scores, weights))
    )
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-6)
    assert np.all(value.numpy()[:, :, 3] == value.numpy()[:, :, 39])
    for single, double in zip(found, truth, strict=True):
        np.testing.assert_allclose(single, double, rtol=0, atol=1e-5 * np.max(np.abs(double)))
    assert np.all(found[0].numpy()[:, 3] == found[0].numpy()[:, 39])


@pytest.mark.parametrize("size", [None, 8, 9, 10])
@pytest.mark.parametrize("top_k", [None, 2])
def test_size_decides(size, top_k):
    thresholds = Thresholds(pairwise_max_size=9, pairwise_max_size_top_k=8)

    def matrix(scores):
        return _dispatch.permutation(sort_arguments(scores, 1.0, thresholds=thresholds), top_k)

    signature = [tf.TensorSpec([2, size])]
    graph = tf.function(matrix, input_signature=signature).get_concrete_function()
    pruned = tf.compat.v1.graph_util.extract_sub_graph(
        graph.graph.as_graph_def(), [output.op.name for output in graph.outputs]
    )
    is_sorted = any(node.op == "TopKV2" for node in pruned.node)
    assert is_sorted == (size is None or size > (8 if top_k else 9))


@pytest.mark.parametrize("jit_compile", [False, True])
def test_grid(jit_compile):
    """At least 2^21 and at most 2^22 steps, of which float32 counts four times as many, next to powers of two too."""
    powers = np.ldexp(np.float32(1), np.arange(-95, 120))
    numbers = np.concatenate([powers, np.nextafter(powers, np.float32(0)), np.nextafter(powers, np.inf), 1.7 * powers])
    largest = np.float32([*numbers, 0, 1e-45, 3e38])
    for size in (1, 5, 96, 1000):
        grid = tf.function(lambda x, size=size: two_parts.grid(x, size), jit_compile=jit_compile)
        steps = np.float64(grid(largest))
        np.testing.assert_array_equal(np.frexp(steps)[0], 0.5)  # powers of two
        bound = np.minimum(np.float64(largest) * size, 2.0**128)
        assert np.all(bound / steps <= 2**22)
        assert np.all((bound / steps >= 2**21 * 0.999) | (bound < 1e-29))
    assert np.all(np.isfinite(grid(np.float32([np.nan, np.inf]))))
