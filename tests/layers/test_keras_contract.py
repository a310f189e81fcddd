"""The contract of Keras for layers: its own checks, shapes on symbolic inputs."""

import numpy as np
import pytest
import tensorflow as tf
from support import models
from support.cases import objects

import keras_softsort as ks

keras = tf.keras

# The check of Keras 2 takes one input.
CASES = [case for case in objects.LAYERS if models.IS_KERAS_3 or case.adapter is not models.Neighbors]
# Each class once; the other arguments with everything.
CASES = [
    pytest.param(case, marks=[pytest.mark.nightly] * any(case.cls is other.cls for other in CASES[:i]))
    for i, case in enumerate(CASES)
]


def layer_test_of_keras_3(case, inputs, trained):
    from keras.src.testing import TestCase

    shape = tf.nest.map_structure(lambda each: tuple(each.shape), inputs)
    TestCase().run_layer_test(
        case.cls,
        init_kwargs=case.arguments,
        input_shape=shape if isinstance(shape, tuple) else list(shape),
        expected_output_shape=tuple(case.make()(inputs).shape),
        supports_masking=True,
        run_training_check=trained and isinstance(shape, tuple),  # its batches hold one input
    )


def layer_test_of_keras_2(case, inputs, trained):
    from keras.src.testing_infra import test_utils

    output = case.make()(inputs)
    test_utils.layer_test(
        case.cls,
        kwargs=dict(case.arguments),
        input_data=inputs.numpy(),
        expected_output_dtype=output.dtype.name,
        expected_output_shape=(None, *output.shape[1:]),
        supports_masking=True,
        validate_training=trained and output.dtype.is_floating,
    )


@pytest.mark.default_stack_only
# Keras' own training check shuffles a generator, and trains layers without weights.
@pytest.mark.filterwarnings("ignore:`shuffle=True` was passed:UserWarning")
@pytest.mark.filterwarnings("ignore:The model does not have any trainable weights:UserWarning")
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("trained", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_keras_own_layer_test(case, trained):
    inputs = case.inputs(tf.constant(models.scores(2, 5)))
    (layer_test_of_keras_3 if models.IS_KERAS_3 else layer_test_of_keras_2)(case, inputs, trained)


@pytest.mark.slow
def test_time_distributed_on_symbolic_input():
    layer = keras.layers.TimeDistributed(ks.SoftRankLayer())
    inputs = keras.Input((3, 5))
    model = keras.Model(inputs, layer(inputs))
    assert model.output_shape == (None, 3, 5)
    x = models.scores(6, 5).reshape(2, 3, 5)
    np.testing.assert_allclose(model.predict(x, verbose=0)[1], ks.SoftRankLayer()(x[1]), rtol=1e-5)


def test_shape_of_a_sequential_model():
    model = keras.Sequential([keras.layers.Dense(7), ks.SoftTopKLayer(3, returns="weights")])
    assert model.compute_output_shape((None, 4)) == (None, 3, 7)
