"""The ways a user runs an operator. Each gives the value and the gradients of its weighted sum."""

from __future__ import annotations

import pytest
import tensorflow as tf

from keras_softsort.ops.core import tracing
from support.gradients import tape_gradients

# An eager call runs as the operator's own trace of unknown sizes, so `unknown_shape` checks nearly the same. Op by op,
# values are computed without any trace: the choice for the many cases whose modes do not differ. A trace of known
# shapes is part of what XLA compiles.
TRACED = pytest.param("traced", marks=pytest.mark.nightly)
ALL = ("eager", "traced", "xla", "unknown_shape")
MODES = ("eager", TRACED, "xla", "unknown_shape")
# Modes of a public operator. `test_float32` compiles it in every run.
OP_MODES = ("op_by_op", *(pytest.param(mode, marks=pytest.mark.nightly) for mode in ALL))


def of_first(cases, quick=()):
    """Parameters (case, mode): each of `cases` op by op, the first in the `quick` modes too, and all in all nightly."""
    parameters = [pytest.param(case, "op_by_op") for case in cases]
    for i, case in enumerate(cases):
        for mode in ALL:
            marks = [] if i == 0 and mode in quick else [pytest.mark.nightly]
            parameters.append(pytest.param(case, mode, marks=marks))
    return parameters


def run(mode, function, tensors, weights, mask=None):
    """`function(*tensors, mask)` in `mode`: its value, and the gradients with respect to each of `tensors`."""
    masks = [] if mask is None else [tf.convert_to_tensor(mask)]
    inputs = [*tensors, tf.convert_to_tensor(weights), *masks]

    def both(*inputs):
        mask = inputs[len(tensors) + 1] if masks else None
        return tape_gradients(lambda *args: function(*args, mask), list(inputs[: len(tensors)]), inputs[len(tensors)])

    if mode in {"eager", "op_by_op"}:
        with tracing.eager_calls_traced(mode == "eager"):
            return both(*inputs)
    if mode == "unknown_shape":
        signature = [tf.TensorSpec([None] * tensor.shape.rank, tensor.dtype) for tensor in inputs]
        return tf.function(both, input_signature=signature, autograph=False)(*inputs)
    return tf.function(both, jit_compile=True if mode == "xla" else None, autograph=False)(*inputs)
