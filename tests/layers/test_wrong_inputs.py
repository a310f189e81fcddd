"""Wrong inputs and masks of layers: each error names what is wrong, on either Keras."""

import inspect

import numpy as np
import pytest
import tensorflow as tf
from support import models
from support.cases import objects

import keras_softsort as ks
from keras_softsort.layers._base import SortingLayer

pytestmark = pytest.mark.default_stack_only

CASES = objects.first_of_class([*objects.LAYERS, *objects.OTHER_LAYERS])
MASKED = [case for case in CASES if "mask" in inspect.signature(case.cls.call).parameters]


@pytest.mark.parametrize("case", MASKED, ids=str)
def test_mask(case):
    """A scalar would be broadcast, and False would mask everything."""
    inputs = case.inputs(tf.constant(models.scores(4, 5)))
    layer = case.make()
    another_batch = np.array([True] * (3 if case.cls is ks.GumbelSoftmaxLayer else 2))
    for mask in (True, False, "abc", 1, np.array(True), another_batch, np.ones([4, 5])):
        with pytest.raises((TypeError, ValueError), match=r"mask must .*got "):
            layer(inputs, mask=mask)
    layer(inputs, mask=None)


# Keras itself builds the batch normalization.
@pytest.mark.parametrize("case", [case for case in CASES if case.cls is not ks.MaskedBatchNormalization], ids=str)
@pytest.mark.parametrize("nothing", [None, []], ids=repr)
def test_no_input(case, nothing):
    with pytest.raises((TypeError, ValueError), match=r"(must be|must have|must hold) .* got "):
        case.make()(nothing)


def test_a_layer_has_no_rules_for_names_of_other_layers():
    class Own(SortingLayer):
        def __init__(self, tau=1.0, *, k="all", hard="never", **kwargs):
            super().__init__(tau, **kwargs)
            self._keep_options(k=k, hard=hard)

        def call(self, inputs):
            return inputs

    layer = Own()
    layer(tf.constant(models.scores(4, 5)))
    assert {"k": "all", "hard": "never"}.items() <= layer.get_config().items()
