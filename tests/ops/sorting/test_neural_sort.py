"""NeuralSort's matrix and gradients: the formula of the paper, with all digits of float32."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from support import modes
from support.gradients import central_differences, fixed_weights
from support.oracles import sorting as oracles

import keras_softsort as ks
from keras_softsort.ops.sorting import methods

LISTS = {
    "plain": np.random.default_rng(1).normal(size=(3, 9)),
    "tied": np.random.default_rng(2).integers(0, 3, size=(3, 9)) / 2.0,
    "far from 0": 1e6 + np.random.default_rng(3).normal(size=(3, 9)),
    "wide": 1e6 * np.random.default_rng(4).normal(size=(3, 9)),
}
MASK = np.arange(9) < [[9], [5], [0]]

CASES = [
    *itertools.product(LISTS, [False, True], [None, 4], ["op_by_op"]),
    pytest.param(("plain", False, 4, "xla"), marks=pytest.mark.nightly),
    ("plain", True, None, "xla"),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_matrix_and_gradient(case):
    kind, masked, top_k, mode = case
    scores, tau, mask = LISTS[kind], np.float64(0.8), MASK if masked else None
    weights = fixed_weights([3, top_k or 9, 9])

    def ours(scores, tau, mask):
        return ks.neural_sort(scores, tau, mask=mask, top_k=top_k)

    def formula(scores, tau):
        return oracles.neural_sort(scores, tau, mask=mask)[:, :top_k]

    value, gradients = modes.run(mode, ours, [tf.constant(scores), tf.constant(tau)], weights, mask)
    np.testing.assert_allclose(value, formula(scores, tau), rtol=1e-7, atol=1e-9)
    if kind == "plain":
        for found, truth in zip(gradients, central_differences(formula, [scores, tau], weights), strict=True):
            np.testing.assert_allclose(found, truth, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("jit_compile", "masked"), [(None, True), (None, False), pytest.param(True, False, marks=pytest.mark.nightly)]
)
def test_float32_has_its_digits(jit_compile, masked):
    """Scores far from 0 cost none, and tied items have equal weights and gradients to the last bit."""
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
            found = ks.neural_sort(scores, tau, mask=items)
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


def test_a_masked_item_costs_the_others_nothing_when_cold():
    """At a low temperature a masked item is farther from a row's logits than the valid items are."""
    scores, mask = np.float32([[1, 3, 2, 0]]), np.array([[True, True, True, False]])
    found = ks.neural_sort(scores, 1e-6, mask=mask)
    np.testing.assert_array_equal(found[0], [[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]])


def leading_rows_of_a_long_list(scores, mask):
    """Memberships in the first five of 1,100 items and the gradient of a weighted sum of them."""
    weights = np.cos(np.arange(scores.shape[1]))
    with tf.GradientTape() as tape:
        tape.watch(scores)
        memberships = ks.ops.soft_top_k_membership(scores, 5, tau=100.0, method="neural_sort", mask=mask)
        total = tf.reduce_sum(memberships * tf.cast(weights, scores.dtype))
    return memberships, tape.gradient(total, scores)


@pytest.mark.slow
@pytest.mark.parametrize("jit", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["TF", "XLA"])
@pytest.mark.parametrize("masked", [False, True])
def test_leading_rows_of_long_lists_form_no_pairs(masked, jit, rng, monkeypatch):
    scores = rng.normal(size=(2, 1100))
    scores[0, 5], scores[1, 10:20] = 1e30, scores[1, 10]
    mask = np.arange(1100) < [[1100], [900]] if masked else None
    traced = tf.function(leading_rows_of_a_long_list, jit_compile=jit, autograph=False)
    given = tf.constant(scores, tf.float32)
    found = traced(given, mask)
    operations = traced.get_concrete_function(given, mask).graph.get_operations()
    sizes = [tensor.shape.as_list() for each in operations for tensor in each.outputs if tensor.shape.rank]
    assert max(np.prod(size) for size in sizes) <= 2 * 5 * 1100 * 4
    monkeypatch.setattr(methods, "_is_long", lambda method, power, size: False)
    wanted = leading_rows_of_a_long_list(tf.constant(scores), mask)  # from all pairs, in float64
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-4, atol=1e-6)
