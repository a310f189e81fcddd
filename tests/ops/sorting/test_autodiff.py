"""Every sorting operator in every way of differentiating and mapping that TensorFlow has."""

import numpy as np
import pytest
import tensorflow as tf
from support import autodiff
from support.gradients import fixed_weights, tape_gradients

from keras_softsort import ops

pytestmark = [pytest.mark.default_stack_only, pytest.mark.traced_eagerly]

# Two lists, each with its own temperature.
ARRAYS = [np.random.default_rng(0).normal(size=(2, 5)), np.array([0.8, 0.9])]
OPERATORS = {
    "neural_sort": ops.neural_sort,
    "soft_sort": ops.soft_sort,
    "ranks": ops.soft_rank,
    "membership by LapSum": lambda s, tau: ops.soft_top_k_membership(s, 2, tau),
    "quantiles": lambda s, tau: ops.soft_quantile(s, [0.3, 0.6], tau),
    "membership": lambda s, tau: ops.soft_top_k_membership(s, 2, tau, method="neural_sort"),
    "ranks by LapSum": lambda s, tau: ops.soft_rank(s, tau, method="lapsum"),
    "ranks by projection": lambda s, tau: ops.soft_rank(s, tau, method="projection"),
    "values by projection_kl": lambda s, tau: ops.soft_values(s, tau, method="projection_kl"),
}


# The ways of which each operator has something of its own.
QUICK = {
    "neural_sort": ("persistent", "gradient_in_strict_map", "forward", "traced_second"),
    "soft_sort": ("forward",),
    "ranks": ("jacobian", "gradient_of_map"),
    "membership by LapSum": ("gradient_in_strict_map", "traced_second"),
    "ranks by LapSum": ("forward",),
}


@pytest.mark.parametrize(
    ("name", "way"), [case for name in OPERATORS for case in autodiff.cases([name], QUICK.get(name, ()))]
)
def test_right_in_every_way(name, way):
    autodiff.check(way, OPERATORS[name], ARRAYS)


def test_forward_mode_after_reverse_mode():
    """TensorFlow cannot push tangents through a trace with loops that a tape has recorded."""
    for way in ("persistent", "forward"):
        autodiff.check(way, OPERATORS["ranks by projection"], ARRAYS)


@pytest.mark.parametrize("fallback", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_hard_has_the_soft_gradient_around_a_vectorized_map(fallback):
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
