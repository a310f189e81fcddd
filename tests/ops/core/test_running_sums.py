"""Running sums in the form of each device."""

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort.ops.core import target
from keras_softsort.ops.core.running_sums import running_sums


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("size", [1, 2, 5, 64, 100])
@pytest.mark.parametrize("name", ["cpu", "tpu"])
def test_values_and_gradients(name, size, jit, rng):
    values, weights = rng.normal(size=[2, 3, size])

    def run(values):
        with tf.GradientTape() as tape:
            tape.watch(values)
            sums = running_sums(values)
            total = tf.reduce_sum(sums * weights)
        return sums, tape.gradient(total, values)

    with target.lowering_for(name):
        sums, gradient = tf.function(run, jit_compile=jit, autograph=False)(tf.constant(values))
    np.testing.assert_allclose(sums, np.cumsum(values, axis=1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradient, np.cumsum(weights[:, ::-1], axis=1)[:, ::-1], rtol=1e-12, atol=1e-12)


def test_the_program_for_a_tpu_has_no_running_sum(rng):
    """Its compiler takes minutes for one of 100,000 numbers of float64."""

    def operations(name):
        with target.lowering_for(name):
            trace = tf.function(running_sums, autograph=False).get_concrete_function(tf.TensorSpec([1, 9], tf.float64))
        return {operation.type for operation in trace.graph.get_operations()}

    assert "Cumsum" in operations("cpu")
    assert "Cumsum" not in operations("tpu")
