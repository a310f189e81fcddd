"""Soft matchings in every way of differentiating and mapping that TensorFlow has."""

import numpy as np
import pytest
import tensorflow as tf
from support import autodiff
from support.cases import collect

pytestmark = [pytest.mark.default_stack_only, pytest.mark.traced_eagerly]

RNG = np.random.default_rng(0)
# Two matrices, each with its own temperature.
ARRAYS = [RNG.normal(size=(2, 3, 3)), np.array([0.8, 0.9])]
FAR = [ARRAYS[0] + 500 * np.array([[0, 1, 0], [1, 0, 0], [1, 1, 0]]), ARRAYS[1]]
OPERATORS = collect.by_name("IN_EVERY_WAY", "matching")
# TensorFlow fails in forward mode of conditionals that a tape went through before.
BACKWARD = [way for way in autodiff.WAYS if not way.endswith("forward")]


@pytest.mark.parametrize(
    ("name", "way"),
    [
        pytest.param(name, way, marks=[] if way in quick_ways else [pytest.mark.nightly])
        for name, (_, quick_ways) in OPERATORS.items()
        for way in BACKWARD
    ],
)
def test_right_in_every_way(name, way):
    autodiff.check(way, OPERATORS[name][0], ARRAYS)


@pytest.mark.parametrize("watched", [0, 1])
@pytest.mark.parametrize("name", ["sinkhorn", "gumbel_sinkhorn"])
def test_forward_mode_is_refused(name, watched):
    tensors = [tf.constant(array) for array in ARRAYS]
    with (
        tf.autodiff.ForwardAccumulator(tensors[watched], tf.ones_like(tensors[watched])),
        pytest.raises(RuntimeError, match=r"no derivative in forward mode .*use tape\.jacobian"),
    ):
        OPERATORS[name][0](*tensors)


@pytest.mark.parametrize("way", [pytest.param(way, marks=pytest.mark.nightly) for way in BACKWARD])
def test_potentials_right_in_every_way(way):
    """Scores that differ so much that the iterations are made in log space."""
    autodiff.check(way, OPERATORS["sinkhorn"][0], FAR)
