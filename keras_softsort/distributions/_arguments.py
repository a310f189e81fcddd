"""Checks of the arguments of distributions. Variables stay variables, as in all of TFP, so that they can be trained."""

from __future__ import annotations

import numbers
from typing import Any

import tensorflow as tf
import tensorflow_probability as tfp

from keras_softsort._internal import arguments

VARIABLES = (tf.Variable, tfp.util.DeferredTensor)


def logits_parameter(value: Any) -> Any:
    """Return `value` as a floating-point tensor `[..., n]`, or unchanged if it is a variable."""
    tensor = arguments.list_tensor("logits", value)
    variable = _variable(value)
    return tensor if variable is None else variable


def tau_parameter(value: Any, dtype: tf.DType) -> Any:
    """Return `value` as a floating-point tensor, or unchanged if it is a variable. A number gets `dtype`."""
    if isinstance(value, numbers.Real):
        return arguments.temperature(value, dtype)
    tensor = arguments.floating_tensor("tau", value)
    variable = _variable(value)
    return tensor if variable is None else variable


def order_dtype(value: Any) -> tf.DType:
    """Return `value` as a dtype of orders."""
    try:
        dtype = tf.as_dtype(value)
    except TypeError:
        dtype = None
    if dtype not in (tf.int32, tf.int64):
        raise ValueError(f"dtype must be int32 or int64, got {value!r}")
    return dtype


def _variable(value: Any) -> Any:
    """Return the variable, or function of a variable, that must be read anew each time; None for other values."""
    within = getattr(value, "value", None)  # a variable of Keras 3 holds one of TensorFlow
    found = [each for each in (value, within) if isinstance(each, VARIABLES)]
    return found[0] if found else None


def checked_count(name: str, value: Any, logits: Any) -> int:
    """Return `value` as an int from 1 to the list size."""
    count = arguments.positive_integer(name, value)
    size = logits.shape[-1]
    if size is not None and count > size:
        raise ValueError(f"{name} must be at most the list size, {size}, got {count}")
    return count
