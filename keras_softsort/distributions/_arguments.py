"""Checked arguments of the distributions. Variables stay variables, as in all of TFP, so that they can be trained."""

from __future__ import annotations

import numbers
from typing import Any

import tensorflow as tf
import tensorflow_probability as tfp

from keras_softsort._internal import arguments
from keras_softsort.ops._core import validation

VARIABLES = (tf.Variable, tfp.util.DeferredTensor)


def logits_parameter(value: Any) -> Any:
    """`value` as a floating-point tensor `[..., n]`, or the variable that it is."""
    tensor = validation.list_tensor("logits", value)
    variable = _variable(value)
    return tensor if variable is None else variable


def tau_parameter(value: Any, dtype: tf.DType) -> Any:
    """`value` as a floating-point tensor, in `dtype` if it was a number, or the variable that it is."""
    if isinstance(value, numbers.Real):
        return validation.temperature(value, dtype)
    tensor = validation.floating_tensor("tau", value)
    variable = _variable(value)
    return tensor if variable is None else variable


def _variable(value: Any) -> Any:
    """What has to be read anew each time: a variable, or a function of one. None for anything else."""
    within = getattr(value, "value", None)  # a variable of Keras 3 holds one of TensorFlow
    found = [each for each in (value, within) if isinstance(each, VARIABLES)]
    return found[0] if found else None


def checked_count(name: str, value: Any, logits: Any) -> int:
    """`value` as a number of items of the list, at least 1."""
    count = arguments.positive_integer(name, value)
    size = logits.shape[-1]
    if size is not None and count > size:
        raise ValueError(f"{name} must be at most the list size, {size}, got {count}")
    return count
