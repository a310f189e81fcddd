"""Gathers, inverse permutations and the ranks of ties."""

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort.ops.core import order, ties


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1, 9, 300, None])
def test_tied_ranks(size):
    keys = np.random.default_rng(0).integers(0, 2 + (size or 9) // 3, size=(3, 9 if size is None else size))
    keys = -np.sort(-keys.astype("float32"))
    keys[:, len(keys[0]) * 3 // 4 :] = -np.inf
    keys[keys == 0] *= np.random.default_rng(1).choice([-1, 1], size=keys.shape)[keys == 0]
    first, last = tf.function(ties.tied_ranks, input_signature=[tf.TensorSpec([None, size])])(keys)
    equal = keys[:, :, None] == keys[:, None, :]
    if keys.size:
        np.testing.assert_array_equal(first, equal.argmax(axis=2))
        np.testing.assert_array_equal(last, keys.shape[1] - 1 - equal[:, :, ::-1].argmax(axis=2))
    assert first.shape == last.shape == keys.shape
    assert first.dtype == last.dtype == tf.int32


@pytest.mark.parametrize("compiled", [False, True])
def test_first_ranks_of_numbers(compiled):
    keys = tf.constant([[3.0, 3.0, 1.0, 0.0, -0.0], [np.inf, 2.0, 2.0, 2.0, -np.inf]])
    found = tf.function(ties.first_ranks_of_numbers, jit_compile=compiled)(keys)
    np.testing.assert_array_equal(found, [[0, 0, 2, 3, 3], [0, 1, 1, 1, 4]])


@pytest.mark.parametrize("shape", [(3, 4), (None, None)], ids=str)
@pytest.mark.parametrize("compiled", [False, True])
def test_the_gradient_of_a_gather(shape, compiled):
    """Numbers that are taken twice get the sum, in half of the operations of TensorFlow's gradient or fewer."""
    indices = tf.constant([[2, 0, 2], [1, 1, 1], [3, 2, 0]])
    weights = tf.constant([[1.0, 2.0, 4.0], [1.0, 2.0, 4.0], [1.0, 2.0, 4.0]])

    def gradient_of(gather):
        @tf.function(input_signature=[tf.TensorSpec(shape)], autograph=False, jit_compile=compiled)
        def gradient(values):
            with tf.GradientTape() as tape:
                tape.watch(values)
                taken = tf.exp(gather(values, indices))
            return tape.gradient(taken, values, weights)

        return gradient

    values = tf.constant(np.random.default_rng(0).normal(size=(3, 4)), tf.float32)
    found, plain = gradient_of(order.in_order), gradient_of(lambda *each: tf.gather(*each, batch_dims=1))
    np.testing.assert_allclose(found(values), plain(values), rtol=1e-6)
    counts = [len(each.get_concrete_function().graph.get_operations()) for each in (found, plain)]
    assert counts[0] <= 0.5 * counts[1]
