"""Orders of lists: descending order, inverse permutations, gathers and the ranks of ties."""

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks
from keras_softsort.ops.core import order
from keras_softsort.ops.core.order import descending
from keras_softsort.ops.core.tracing import lowering_for

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


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1, 9, 300, None])
def test_tied_ranks(size):
    keys = np.random.default_rng(0).integers(0, 2 + (size or 9) // 3, size=(3, 9 if size is None else size))
    keys = -np.sort(-keys.astype("float32"))
    keys[:, len(keys[0]) * 3 // 4 :] = -np.inf
    keys[keys == 0] *= np.random.default_rng(1).choice([-1, 1], size=keys.shape)[keys == 0]
    first, last = tf.function(order.tied_ranks, input_signature=[tf.TensorSpec([None, size])])(keys)
    equal = keys[:, :, None] == keys[:, None, :]
    if keys.size:
        np.testing.assert_array_equal(first, equal.argmax(axis=2))
        np.testing.assert_array_equal(last, keys.shape[1] - 1 - equal[:, :, ::-1].argmax(axis=2))
    assert first.shape == last.shape == keys.shape
    assert first.dtype == last.dtype == tf.int32


@pytest.mark.parametrize("target", ["cpu", "tpu"])
def test_the_gradient_of_a_gather_sums_over_repeated_indices(target):
    indices = tf.constant([[2, 0, 2], [1, 1, 1], [3, 2, 0]])
    weights = tf.constant([[1.0, 2.0, 4.0], [1.0, 2.0, 4.0], [1.0, 2.0, 4.0]])
    values = tf.zeros([3, 4])
    with lowering_for(target), tf.GradientTape() as tape:
        tape.watch(values)
        taken = order.take(values, indices)
    expected = [[2, 0, 5, 0], [0, 7, 0, 0], [4, 0, 2, 1]]
    np.testing.assert_allclose(tape.gradient(taken, values, weights), expected)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("target", ["cpu", "tpu"])
def test_mean_ranks(target, masked):
    values = tf.constant([[3.0, 5.0, 3.0, -1.0, 0.0, -0.0]])
    mask = tf.constant([[True, False, True, True, True, True]]) if masked else None
    with lowering_for(target):
        found = order.mean_ranks(values, mask)
    np.testing.assert_array_equal(found, [[1.5, 0, 1.5, 5, 3.5, 3.5]] if masked else [[2.5, 1, 2.5, 6, 4.5, 4.5]])
