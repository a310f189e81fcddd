"""What every test shares: the same start each time, on either Keras."""

import numpy as np
import pytest
import tensorflow as tf

# One process a core runs these tests, most of them tracing and compiling; TensorFlow's pools would fight over cores.
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


ON_TF_RANKING_STACK = tuple(map(int, tf.__version__.split(".")[:2])) < (2, 16)


def pytest_addoption(parser):
    parser.addoption("--everything", action="store_true", help="on the TF-Ranking stack too, run what is marked `once`")


def pytest_collection_modifyitems(config, items):
    """Numbers that the default stack has checked, in modes that other tests run here, are not checked again."""
    if not ON_TF_RANKING_STACK or config.getoption("--everything"):
        return
    config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("once")])
    items[:] = [item for item in items if not item.get_closest_marker("once")]


@pytest.fixture(autouse=True)
def _fresh_start():
    """A test that depends on what ran before it would pass or fail by its place in the file."""
    tf.keras.utils.set_random_seed(1)


@pytest.fixture
def rng():
    return np.random.default_rng(7)
