"""Scores in standard deviations: `scale="std"` is the operator of scores that are divided by theirs."""

import numpy as np
import pytest
import tensorflow as tf
from support import modes
from support.cases.op_case import LONGER as SCORES
from support.cases.op_case import LONGER_MASK as MASK
from support.gradients import fixed_weights, tape_gradients

import keras_softsort as ks
from keras_softsort import ops
from keras_softsort.ops.sorting import methods

METHODS = {capability: methods.names(capability) for capability in methods.CAPABILITIES}
# Operators whose result has no unit: divided scores give an equal result.
OPERATORS = {
    "neural_sort": ops.neural_sort,
    "soft_sort": ops.soft_sort,
    "soft_sort, power": lambda s, tau, **options: ops.soft_sort(s, tau, power=1.5, **options),
    "soft_top_k": lambda s, tau, **options: ops.soft_top_k(s, 2, tau, **options).weights,
    **{
        f"soft_rank, {method}": lambda s, tau, method=method, **options: ops.soft_rank(s, tau, method=method, **options)
        for method in METHODS["ranks"]
    },
    **{
        f"membership, {method}": lambda s, tau, method=method, **options: ops.soft_top_k_membership(
            s, 2, tau, method=method, **options
        )
        for method in METHODS["membership"]
    },
}
# Operators that give values, which keep their scale.
VALUES = {
    "soft_quantile": lambda s, tau, **options: ops.soft_quantile(s, 0.3, tau, **options),
    "soft_top_k": lambda s, tau, **options: ops.soft_top_k(s, 2, tau, **options).values,
    **{
        method: lambda s, tau, method=method, **options: ops.soft_values(s, tau, method=method, **options)
        for method in METHODS["values"]
    },
}


def deviations(scores):
    valid = tf.ragged.boolean_mask(scores, MASK)
    return tf.sqrt(tf.stack([tf.math.reduce_variance(each) for each in valid]))[:, tf.newaxis]


BOTH = [*((each, False) for each in OPERATORS.values()), *((each, True) for each in VALUES.values())]


@pytest.mark.slow
@pytest.mark.parametrize(("operator", "gives_values"), BOTH, ids=[*OPERATORS, *(f"values, {name}" for name in VALUES)])
def test_is_that_of_divided_scores(operator, gives_values):
    shape = operator(tf.constant(SCORES), 0.7, mask=MASK).shape
    weights = fixed_weights(tuple(shape))

    def of_divided(scores):
        units = deviations(scores)
        found = operator(scores / units, 0.7, mask=MASK)
        return found * tf.reshape(units, [2] + [1] * (len(shape) - 1)) if gives_values else found

    scores = [tf.constant(SCORES)]
    found, (gradient,) = tape_gradients(lambda s: operator(s, 0.7, mask=MASK, scale="std"), scores, weights)
    wanted, (right,) = tape_gradients(of_divided, scores, weights)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gradient, right, rtol=1e-7, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("mode", modes.OP_MODES)
def test_in_every_mode_at_any_scale(mode):
    found, _ = modes.run(
        mode,
        lambda s, _: ops.neural_sort(s, scale="std"),
        [tf.constant(np.stack([SCORES[0], 1e12 * SCORES[0], 1e-12 * SCORES[0] + 1e-13]))],
        np.ones([3, 6, 6]),
    )
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-9, atol=1e-12)


def test_a_temperature_per_list_and_equal_scores():
    scores = tf.constant([[1.0, 1.0, 1.0], [1.0, 2.0, 4.0], [5.0, np.nan, 0.0]])
    found = ops.soft_sort(scores, tf.constant([1.0, 0.5, 1.0]), scale="std")
    np.testing.assert_allclose(found[0], np.full([3, 3], 1 / 3), rtol=1e-6)
    np.testing.assert_allclose(found[1], ops.soft_sort(scores[1], 0.5, scale="std"), rtol=1e-6)
    assert np.all(np.isnan(found[2]))
    large = ops.soft_sort(tf.constant([1e30, 2e30, -3e30]), scale="std")
    np.testing.assert_allclose(large, ops.soft_sort(tf.constant([1.0, 2.0, -3.0]), scale="std"), rtol=1e-5, atol=1e-7)


LAYERS = {
    "NeuralSortLayer": (ks.NeuralSortLayer(0.7, scale="std"), ops.neural_sort),
    "NeuralSortLayer, values": (ks.NeuralSortLayer(0.7, scale="std", returns="values"), ops.soft_values),
    "NeuralSortLayer, ranks": (ks.NeuralSortLayer(0.7, scale="std", returns="ranks"), ops.soft_rank),
    "SoftSortLayer": (ks.SoftSortLayer(0.7, scale="std"), ops.soft_sort),
    "SoftRankLayer": (ks.SoftRankLayer(0.7, scale="std"), ops.soft_rank),
    "SoftTopKLayer": (ks.SoftTopKLayer(2, 0.7, scale="std"), VALUES["soft_top_k"]),
    "SoftTopKLayer, membership": (
        ks.SoftTopKLayer(2, 0.7, scale="std", returns="membership"),
        OPERATORS["membership, lapsum"],
    ),
    "SoftQuantileLayer": (ks.SoftQuantileLayer([0.3], 0.7, scale="std"), ops.soft_quantile),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_hand_it_on(name):
    layer, operator = LAYERS[name]
    scores = tf.constant(SCORES, tf.float32)
    more = [[0.3]] if name == "SoftQuantileLayer" else []
    wanted = operator(scores, *more, 0.7, mask=MASK, scale="std")
    np.testing.assert_allclose(layer(scores, mask=MASK), wanted, rtol=1e-6)
    assert np.max(np.abs(wanted - operator(scores, *more, 0.7, mask=MASK))) > 1e-3
