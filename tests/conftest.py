"""What every test shares: the same start each time, on either Keras."""

import numpy as np
import pytest
import tensorflow as tf

# One process a core runs these tests, most of them tracing and compiling; TensorFlow's pools would fight over cores.
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


@pytest.fixture(autouse=True)
def _fresh_start():
    """A test that depends on what ran before it would pass or fail by its place in the file."""
    tf.keras.utils.set_random_seed(1)


@pytest.fixture
def rng():
    return np.random.default_rng(7)
