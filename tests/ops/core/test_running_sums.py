"""Running sums, of one block and of several."""

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort.ops.core.running_sums import BLOCK, running_sums


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("size", [0, 1, 5, BLOCK, BLOCK + 1, 2 * BLOCK + 300, None])
@pytest.mark.parametrize("ways", [{}, {"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}])
def test_values_and_gradients(ways, size, jit, rng):
    values, weights = rng.normal(size=[2, 3, 7 if size is None else size])

    def run(values):
        with tf.GradientTape() as tape:
            tape.watch(values)
            sums = running_sums(values, **ways)
            total = tf.reduce_sum(sums * weights)
        return sums, tape.gradient(total, values)

    signature = [tf.TensorSpec([None, size], tf.float64)]
    sums, gradient = tf.function(run, jit_compile=jit, autograph=False, input_signature=signature)(values)
    counts = np.tri(values.shape[1], k=-1 if "exclusive" in ways else 0)  # [sum, value]
    counts = counts.T if "reverse" in ways else counts
    np.testing.assert_allclose(sums, values @ counts.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradient, weights @ counts, rtol=1e-12, atol=1e-12)
