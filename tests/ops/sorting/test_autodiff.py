"""Every sorting operator in every way of differentiating and mapping that TensorFlow has."""

import numpy as np
import pytest
import tensorflow as tf
from support import autodiff
from support.cases import collect
from support.gradients import fixed_weights, tape_gradients

from keras_softsort import ops

pytestmark = pytest.mark.traced_eagerly

# Two lists, each with its own temperature.
ARRAYS = [np.random.default_rng(0).normal(size=(2, 5)), np.array([0.8, 0.9])]
OPERATORS = collect.by_name("IN_EVERY_WAY", "sorting")


# TensorFlow 2.15 has no vectorized sort.
SORTS_IN_A_MAP = tuple(map(int, tf.__version__.split(".")[:2])) >= (2, 16)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "way"),
    [case for name, (_, quick_ways) in OPERATORS.items() for case in autodiff.cases([name], quick_ways)],
)
def test_right_in_every_way(name, way):
    sorts = name == "neural_sort" or "LapSum" in name
    if way == "gradient_in_strict_map" and sorts and not SORTS_IN_A_MAP:
        pytest.skip("no vectorized sort")
    autodiff.check(way, OPERATORS[name][0], ARRAYS)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["neural_sort", "ranks", "quantiles"])
def test_float32_in_a_strict_map(name):
    """NeuralSort of float32 is computed in float64, by operations that have a vectorized form."""
    function, tensors = OPERATORS[name][0], [tf.constant(each, tf.float32) for each in ARRAYS]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        mapped = tf.vectorized_map(
            lambda each: function(*each), tuple(tensors), fallback_to_while_loop=not SORTS_IN_A_MAP
        )
    with tf.GradientTape() as alone:
        alone.watch(tensors)
        stacked = tf.stack([function(*each) for each in zip(*map(tf.unstack, tensors), strict=True)])
    np.testing.assert_allclose(mapped, stacked, rtol=1e-5, atol=1e-6)
    weights = np.float32(fixed_weights(mapped.shape))
    for found, expected in zip(
        tape.gradient(mapped, tensors, weights), alone.gradient(stacked, tensors, weights), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.nightly
def test_forward_mode_after_reverse_mode():
    """TensorFlow cannot push tangents through a trace with loops that a tape has recorded."""
    for way in ("persistent", "forward"):
        autodiff.check(way, OPERATORS["ranks by projection"][0], ARRAYS)


@pytest.mark.slow
@pytest.mark.parametrize("fallback", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_hard_has_the_soft_gradient_around_a_vectorized_map(fallback):
    fallback |= not SORTS_IN_A_MAP
    scores, weights = tf.constant(ARRAYS[0]), fixed_weights([2, 5, 5])

    def gradient(hard):
        def mapped(scores):
            return tf.vectorized_map(
                lambda s: ops.neural_sort(s, 0.8, hard=hard), scores, fallback_to_while_loop=fallback
            )

        return tape_gradients(mapped, [scores], weights)[1][0]

    np.testing.assert_allclose(gradient(True), gradient(False), rtol=1e-12)


@pytest.mark.parametrize("way", autodiff.QUICK_WAYS)
def test_a_wrong_gradient_is_found(way):
    @tf.custom_gradient
    def square(x):
        return tf.square(x) + 1e-3 * tf.stop_gradient(x), lambda upstream: 3 * upstream * x

    with pytest.raises(AssertionError):
        autodiff.check(way, square, ARRAYS[1:])
