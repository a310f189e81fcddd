"""The gradients of rows of softmaxes and of products with them where those of their operations would lose digits."""

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort.ops.sorting._dense.rows import SoftmaxRows
from keras_softsort.ops.sorting._ordering import Ranks, flat_lists


@pytest.mark.parametrize("mask", [None, [[True, True, False]]])
def test_logits_may_be_infinite(mask):
    """No gradient is NaN: they have the weight 0."""
    tau, logits = tf.constant(1e-20), tf.constant([[[0.0, -np.inf, 0.0], [-1e38, 0.0, -1e-20]]])
    with tf.GradientTape() as tape:
        tape.watch([tau, logits])
        lists = flat_lists(tf.zeros([1, 3]), tau, None if mask is None else tf.constant(mask))
        rows = SoftmaxRows(lists, Ranks(tf.constant([[0, 1]]), are_leading=True), logits)
        total = tf.reduce_sum(rows.matrix() * [1.0, 2.0, 4.0])
    d_tau, d_logits = tape.gradient(total, [tau, logits])
    assert np.all(np.isfinite(d_logits))
    share = 0 if mask else np.exp(-1) / (1 + np.exp(-1)) ** 2
    np.testing.assert_allclose(d_tau * 1e-20, 2 * share, rtol=1e-5)


def test_infinite_logits_share_their_row():
    lists, logits = flat_lists(tf.zeros([1, 3]), tf.constant(1.0), None), tf.constant([[[np.inf, 0.0, np.inf]]])
    rows = SoftmaxRows(lists, Ranks(tf.constant([[0]]), are_leading=True), logits)
    np.testing.assert_array_equal(rows.matrix(), [[[0.5, 0, 0.5]]])
    np.testing.assert_array_equal(rows.multiply(tf.constant([[[1.0], [2.0], [4.0]]])), [[[2.5]]])


@pytest.mark.parametrize("depth", [1, 3])
def test_values_far_from_zero_keep_their_digits_in_the_gradient(depth):
    rng = np.random.default_rng(0)
    logits, values = rng.normal(size=[1, 6, 6]), 1e5 + np.round(64 * rng.normal(size=[1, 6, depth])) / 64
    upstream = rng.normal(size=[1, 6, depth])

    def slopes(dtype):
        given, carried = tf.constant(logits, dtype), tf.constant(values, dtype)
        with tf.GradientTape() as tape:
            tape.watch(given)
            lists = flat_lists(tf.zeros([1, 6], dtype), tf.constant(1.0, dtype), None)
            result = SoftmaxRows(lists, Ranks(tf.range(6)[tf.newaxis], are_leading=True), given).multiply(carried)
        return tape.gradient(result, given, output_gradients=tf.constant(upstream, dtype))

    np.testing.assert_allclose(slopes("float32"), slopes("float64"), atol=1e-5)
