"""The descending order of lists, by top-k and by XLA's sort of integers."""

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks
from keras_softsort.ops.core.order import descending

pytestmark = pytest.mark.default_stack_only

INF = np.inf
KEYS = np.float32(
    [
        [0.5, -1.5, 0.5, 3e38, -3e38, 0.0, 1e-37, -1e-37],
        [INF, -INF, 1.0, -INF, INF, 2.0, 1.0, 1.0],
        [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0],
        [4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0],
    ]
)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("shape", [KEYS.shape, (None, None)], ids=str)
@pytest.mark.parametrize("jit", [False, True], ids=["TF", "XLA"])
def test_descending_order_with_ties_in_the_order_of_the_list(jit, shape, dtype):
    signature = [tf.TensorSpec(shape, dtype)]
    keys, items = tf.function(descending, jit_compile=jit, autograph=False, input_signature=signature)(
        tf.cast(KEYS, dtype)
    )
    wanted = np.argsort(-KEYS, axis=1, kind="stable")
    np.testing.assert_array_equal(items, wanted)
    np.testing.assert_array_equal(keys, np.take_along_axis(KEYS, wanted, axis=1))
    assert (keys.dtype, items.dtype) == (dtype, tf.int32)


@pytest.mark.parametrize("jit", [False, True], ids=["TF", "XLA"])
def test_zeros_of_both_signs_are_tied(jit):
    zeros = tf.constant([[0.0, -0.0, 1.0, 0.0, -0.0]])
    keys, items = tf.function(descending, jit_compile=jit, autograph=False)(zeros)
    np.testing.assert_array_equal(keys, [[1, 0, 0, 0, 0]])
    np.testing.assert_array_equal(items, [[2, 0, 1, 3, 4]])


def test_no_lists_and_empty_lists():
    for shape in ((0, 3), (3, 0)):
        keys, items = tf.function(descending, jit_compile=True, autograph=False)(tf.zeros(shape))
        assert keys.shape == items.shape == shape


@pytest.mark.slow
def test_vectorized_map_within_a_compiled_function():
    scores = tf.constant(KEYS[2:])

    @tf.function(jit_compile=True, autograph=False)
    def ranks(scores):
        return tf.vectorized_map(lambda each: ks.soft_rank(each, method="soft_sort"), scores)

    np.testing.assert_allclose(ranks(scores), ks.soft_rank(scores, method="soft_sort"), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("compiled", [None, True])
def test_zeros_of_both_signs_are_ties(dtype, compiled):
    function = tf.function(lambda keys: descending(keys)[1], jit_compile=compiled)
    np.testing.assert_array_equal(function(tf.constant([[-0.0, 0.0, 1.0, -0.0, 0.0]], dtype)), [[2, 0, 1, 3, 4]])
