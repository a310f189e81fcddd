"""Inverse permutations and the ranks of ties."""

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort.ops.core import ties


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
def test_tied_ranks_of_numbers(compiled):
    keys = tf.constant([[3.0, 3.0, 1.0, 0.0, -0.0], [np.inf, 2.0, 2.0, 2.0, -np.inf]])
    found = tf.function(ties.tied_ranks_of_numbers, jit_compile=compiled)(keys)
    np.testing.assert_array_equal(found, [[[0, 0, 2, 3, 3], [0, 1, 1, 1, 4]], [[1, 1, 2, 4, 4], [0, 3, 3, 3, 4]]])
