"""Arguments of the distributions, checked. Variables stay variables, as TFP has it, so that they can be trained."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tensorflow_probability as tfp

from keras_softsort._internal import arguments
from keras_softsort.ops._core import validation

REFERENCES = (tf.Variable, tfp.util.DeferredTensor)


def parameter(name: str, value: Any) -> Any:
    """`value` as a floating-point tensor `[..., n]`, or itself where its value may change."""
    tensor = validation.list_tensor(name, value)
    return value if isinstance(value, REFERENCES) else tensor


def checked_count(name: str, value: Any, log_scores: Any) -> int:
    """`value` as a number of items of the list, at least 1."""
    count = arguments.positive_integer(name, value)
    size = log_scores.shape[-1]
    if size is not None and count > size:
        raise ValueError(f"{name} must be at most the list size, {size}, got {count}")
    return count
