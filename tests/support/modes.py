"""The ways a user runs an operator. Each gives the value and the gradients of its weighted sum."""

from __future__ import annotations

import pytest
import tensorflow as tf

from support.gradients import tape_gradients

# Eager calls compile with XLA inside the operator; the traced ones leave that to the surrounding function.
MODES = ("eager", "traced", "xla", "unknown_shape")
# Of a public operator, whose eager calls are what XLA compiles.
OP_MODES = ("eager", "traced", pytest.param("xla", marks=pytest.mark.nightly), "unknown_shape")


def run(mode, function, tensors, weights, mask=None):
    """`function(*tensors, mask)` in `mode`: its value, and the gradients with respect to each of `tensors`."""
    masks = [] if mask is None else [tf.convert_to_tensor(mask)]
    inputs = [*tensors, tf.convert_to_tensor(weights), *masks]

    def both(*inputs):
        mask = inputs[len(tensors) + 1] if masks else None
        return tape_gradients(lambda *args: function(*args, mask), list(inputs[: len(tensors)]), inputs[len(tensors)])

    if mode == "eager":
        return both(*inputs)
    if mode == "unknown_shape":
        signature = [tf.TensorSpec([None] * tensor.shape.rank, tensor.dtype) for tensor in inputs]
        return tf.function(both, input_signature=signature)(*inputs)
    return tf.function(both, jit_compile=True if mode == "xla" else None)(*inputs)
