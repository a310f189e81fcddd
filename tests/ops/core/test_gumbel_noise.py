"""Uniform numbers from a seed: the same in every mode, and never 0 or 1."""

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort.ops.core.gumbel_noise import uniform


@pytest.mark.slow
@pytest.mark.parametrize("seed", [[1, 2], [-5, 77], [2**31 - 1, -(2**31)]], ids=str)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64], ids=lambda dtype: dtype.name)
def test_the_same_numbers_in_every_mode(dtype, seed):
    seed = tf.constant(seed)
    eager = uniform([301, 37], seed, dtype).numpy()
    assert np.all((eager > 0) & (eager < 1))
    assert abs(np.mean(eager) - 0.5) < 0.01
    for compiled in (False, True):
        run = tf.function(lambda: uniform([301, 37], seed, dtype), jit_compile=compiled)
        np.testing.assert_array_equal(run(), eager)
