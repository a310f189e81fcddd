"""Soft matchings in every way of differentiating and mapping that TensorFlow has."""

import numpy as np
import pytest
import tensorflow as tf
from support import autodiff

from keras_softsort import ops

pytestmark = [pytest.mark.default_stack_only, pytest.mark.traced_eagerly]

RNG = np.random.default_rng(0)
# Two matrices, each with its own temperature.
ARRAYS = [RNG.normal(size=(2, 3, 3)), np.array([0.8, 0.9])]
FAR = [ARRAYS[0] + 500 * np.array([[0, 1, 0], [1, 0, 0], [1, 1, 0]]), ARRAYS[1]]
OPERATORS = {
    "sinkhorn": lambda s, tau: ops.sinkhorn(s, tau, num_iterations=4),
    "gumbel_sinkhorn": lambda s, tau: ops.gumbel_sinkhorn(s, tau, seed=[1, 2], num_samples=2, num_iterations=4),
}
NIGHTLY_OPERATORS = {
    "sinkhorn of a masked row": lambda s, tau: ops.sinkhorn(s, tau, row_mask=[True, False, True], num_iterations=4),
    "sinkhorn with a tolerance": lambda s, tau: ops.sinkhorn(s, tau, tolerance=1e-3, num_iterations=70),
    "sinkhorn in segments": lambda s, tau: ops.sinkhorn(s, tau, num_iterations=40),
}


# TensorFlow fails in forward mode of conditionals that a tape went through before.
BACKWARD = [way for way in autodiff.WAYS if not way.endswith("forward")]
QUICK = {("sinkhorn", way) for way in ("jacobian",)}


@pytest.mark.parametrize(
    ("name", "way"),
    [
        pytest.param(name, way, marks=[] if (name, way) in QUICK else [pytest.mark.nightly])
        for name in OPERATORS
        for way in BACKWARD
    ],
)
def test_right_in_every_way(name, way):
    autodiff.check(way, OPERATORS[name], ARRAYS)


@pytest.mark.parametrize("watched", [0, 1])
@pytest.mark.parametrize("name", OPERATORS)
def test_forward_mode_is_refused(name, watched):
    tensors = [tf.constant(array) for array in ARRAYS]
    with (
        tf.autodiff.ForwardAccumulator(tensors[watched], tf.ones_like(tensors[watched])),
        pytest.raises(RuntimeError, match=r"no derivative in forward mode .*use tape\.jacobian"),
    ):
        OPERATORS[name](*tensors)


@pytest.mark.nightly
@pytest.mark.parametrize("way", BACKWARD)
@pytest.mark.parametrize("name", NIGHTLY_OPERATORS)
def test_options_right_in_every_way(name, way):
    autodiff.check(way, NIGHTLY_OPERATORS[name], ARRAYS)


@pytest.mark.parametrize("way", [pytest.param(way, marks=pytest.mark.nightly) for way in BACKWARD])
def test_potentials_right_in_every_way(way):
    """Scores that differ so much that the iterations are made in log space."""
    autodiff.check(way, OPERATORS["sinkhorn"], FAR)
