"""NeuralSort's distances from the order of a list, beside those of all pairs."""

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort.ops.sorting._dense.formulas import sorted_items
from keras_softsort.ops.sorting._ordering import flat_lists


@pytest.mark.parametrize("mask", [None, [[True, True, False, True, True, True, True]]])
def test_distances_and_their_gradient(mask):
    """With ties, a score of 0, and a gradient that sums to 0, as that of the logits does."""
    scores = np.array([[2.0, 0.0, -1.0, 2.0, 5.0, -3.0, 0.0]])
    valid = np.ones([1, 7], bool) if mask is None else np.array(mask)
    scores, weights = scores * valid, np.array([[0.5, -1.0, 2.0, 3.0, -4.0, 1.5, -2.0]]) * valid
    weights -= valid * np.sum(weights) / np.sum(valid)
    lists = flat_lists(tf.constant(scores), tf.constant(1.0, tf.float64), None if mask is None else tf.constant(mask))
    with tf.GradientTape() as tape:
        tape.watch(lists.scores)
        found = sorted_items(lists).distances(lists.scores)
        total = tf.reduce_sum(found * weights)
    slopes = tape.gradient(total, lists.scores)
    apart = scores[:, :, None] - scores[:, None, :]
    pairs = valid[:, None, :] * valid[:, :, None]
    truth = np.sum(pairs * (np.abs(apart) - np.abs(scores[:, None, :])), axis=2)
    np.testing.assert_allclose(valid * found, truth, atol=1e-12)
    signs = pairs * np.sign(apart)
    expected = weights * np.sum(signs, axis=2) - np.sum(signs * weights[:, :, None], axis=1)
    np.testing.assert_allclose(valid * slopes, expected, atol=1e-12)
