"""An error for operators that TensorFlow cannot differentiate in forward mode."""

from __future__ import annotations

import tensorflow as tf
from tensorflow.python.eager import forwardprop_util  # TensorFlow has no public way to ask


def refuse_forward_mode(operator: str, *tensors: tf.Tensor) -> None:
    """Raise if `tf.autodiff.ForwardAccumulator` watches one of `tensors` in an eager call."""
    if tf.executing_eagerly() and forwardprop_util.pack_tangents(tensors).indices:
        raise RuntimeError(
            f"{operator} has no derivative in forward mode (tf.autodiff.ForwardAccumulator); use tape.jacobian instead"
        )
