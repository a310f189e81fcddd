"""Every sorting operator in every way of differentiating and mapping that TensorFlow has."""

import numpy as np
import pytest
import tensorflow as tf
from support import autodiff

from keras_softsort import ops

pytestmark = pytest.mark.default_stack_only

# Two lists, each with its own temperature.
ARRAYS = [np.random.default_rng(0).normal(size=(2, 5)), np.array([0.8, 0.9])]
OPERATORS = {
    "neural_sort": ops.neural_sort,
    "top-k membership": lambda s, tau: ops.soft_top_k_membership(s, 2, tau, method="neural_sort"),
    "quantiles": lambda s, tau: ops.soft_quantile(s, [0.3, 0.6], tau),
}


@pytest.mark.parametrize(("name", "way"), autodiff.cases(OPERATORS))
def test_right_in_every_way(name, way):
    autodiff.check(way, OPERATORS[name], ARRAYS)


@pytest.mark.parametrize("way", autodiff.QUICK_WAYS)
def test_a_wrong_gradient_is_found(way):
    @tf.custom_gradient
    def square(x):
        return tf.square(x) + 1e-3 * tf.stop_gradient(x), lambda upstream: 3 * upstream * x

    with pytest.raises(AssertionError):
        autodiff.check(way, square, ARRAYS[1:])
