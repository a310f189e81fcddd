"""Soft matchings in every way of differentiating and mapping that TensorFlow has."""

import numpy as np
import pytest
import tensorflow as tf
from support import autodiff
from support.cases import collect

import keras_softsort as ks

pytestmark = pytest.mark.traced_eagerly

RNG = np.random.default_rng(0)
# Two matrices, each with its own temperature.
ARRAYS = [RNG.normal(size=(2, 3, 3)), np.array([0.8, 0.9])]
FAR = [ARRAYS[0] + 500 * np.array([[0, 1, 0], [1, 0, 0], [1, 1, 0]]), ARRAYS[1]]
OPERATORS = collect.by_name("IN_EVERY_WAY", "matching")
# TensorFlow fails in forward mode of conditionals that a tape went through before.
BACKWARD = [way for way in autodiff.WAYS if not way.endswith("forward")]


@pytest.mark.slow
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


REFUSES_FORWARD_MODE = {
    "sinkhorn": OPERATORS["sinkhorn"][0],
    "gumbel_sinkhorn": OPERATORS["gumbel_sinkhorn"][0],
    "transport_cost": lambda x, tau: ks.ops.transport_cost(x, x, tau),
    "sinkhorn_divergence": lambda x, tau: ks.ops.sinkhorn_divergence(x, x + 1, tau),
}


@pytest.mark.parametrize("mode", ["eager", "traced", "xla"])
@pytest.mark.parametrize("watched", [0, 1])
@pytest.mark.parametrize("name", REFUSES_FORWARD_MODE)
def test_forward_mode_is_refused(name, watched, mode):
    def slope(*tensors):
        with tf.autodiff.ForwardAccumulator(tensors[watched], tf.ones_like(tensors[watched])):
            return REFUSES_FORWARD_MODE[name](*tensors)

    run = slope if mode == "eager" else tf.function(slope, autograph=False, jit_compile=mode == "xla")
    with pytest.raises(RuntimeError, match=r"no derivative in forward mode .*use tape\.jacobian"):
        run(*(tf.constant(array) for array in ARRAYS))


@pytest.mark.parametrize("way", [pytest.param(way, marks=pytest.mark.nightly) for way in BACKWARD])
def test_potentials_right_in_every_way(way):
    """Scores that differ so much that the iterations are made in log space."""
    autodiff.check(way, OPERATORS["sinkhorn"][0], FAR)


@pytest.mark.parametrize("name", ["row_sums", "column_sums"])
def test_forward_mode_of_sums_is_refused(name):
    sums = tf.ones([3], tf.float64)
    with tf.autodiff.ForwardAccumulator(sums, sums), pytest.raises(RuntimeError, match="no derivative in forward mode"):
        ks.sinkhorn(RNG.normal(size=(3, 3)), **{name: sums})


@pytest.mark.nightly  # compiles for a minute
def test_second_derivatives_of_the_default_iterations_under_xla():
    """TensorFlow compiles no second derivative of a loop, and two segments are none."""

    def second(logits):
        with tf.GradientTape() as outer:
            outer.watch(logits)
            with tf.GradientTape() as inner:
                inner.watch(logits)
                total = tf.reduce_sum(tf.square(ks.sinkhorn(logits)))
            norm = tf.reduce_sum(tf.square(inner.gradient(total, logits)))
        return outer.gradient(norm, logits)

    logits = tf.constant(np.random.default_rng(0).normal(size=(2, 4, 4)))
    found = tf.function(second, jit_compile=True, autograph=False)(logits)
    np.testing.assert_allclose(found, second(logits), rtol=1e-8, atol=1e-12)
