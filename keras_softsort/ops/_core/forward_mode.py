"""Forward mode: whether a call is differentiated in it, and an error for operators that have no such derivative."""

from __future__ import annotations

from collections.abc import Iterable

import tensorflow as tf
from tensorflow.python.eager import forwardprop_util  # TensorFlow has no public way to ask


def is_watched(tensors: Iterable[tf.Tensor]) -> bool:
    """Whether `tf.autodiff.ForwardAccumulator` watches one of `tensors`."""
    return bool(forwardprop_util.pack_tangents(list(tensors)).indices)


def refuse_forward_mode(operator: str, *tensors: tf.Tensor) -> None:
    """Raise if `tf.autodiff.ForwardAccumulator` watches one of `tensors` in an eager call."""
    if tf.executing_eagerly() and is_watched(tensors):
        raise RuntimeError(
            f"{operator} has no derivative in forward mode (tf.autodiff.ForwardAccumulator); use tape.jacobian instead"
        )
