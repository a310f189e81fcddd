"""The temperature of a loss: a number that can be assigned after the loss was traced."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments


class Temperature:
    """A positive number. Traced functions read it from a variable, so that a new number needs no new trace.

    The variable is made when a function is first traced, one per dtype, so a loss that is only called eagerly has none.
    In a loss that is itself made while a function is traced, it cannot be assigned and is a constant.
    """

    def __init__(self, number: float) -> None:
        self.number = number
        self.dtype = tf.float32  # the dtype of the computation
        self._is_constant = not tf.executing_eagerly()
        self._variables: dict[tf.DType, tf.Variable] = {}

    def read(self) -> Any:
        """The number; in a traced function a tensor."""
        dtype = self.dtype
        if tf.executing_eagerly() or self._is_constant:
            return self.number
        with tf.init_scope():
            if not tf.executing_eagerly():  # a graph of TensorFlow 1
                return self.number
            if dtype not in self._variables:
                self._variables[dtype] = tf.Variable(
                    self._of_dtype(dtype),
                    dtype=dtype,
                    name="tau",
                    trainable=False,
                    aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
                    experimental_enable_variable_lifting=False,  # with it, `tf.function` would trace twice
                )
        tf.compat.v1.add_to_collection("tau", self._variables[dtype])  # a trace may outlive the loss
        return tf.convert_to_tensor(self._variables[dtype])

    def assign(self, number: float) -> None:
        """Change the number, also for functions that are already traced."""
        if self._is_constant:
            raise ValueError(f"tau of a loss that was made in a traced function cannot be assigned, got {number!r}")
        self.number = number
        with tf.init_scope():
            for dtype, variable in self._variables.items():
                variable.assign(self._of_dtype(dtype))

    def _of_dtype(self, dtype: tf.DType) -> float:
        return max(self.number, arguments.dtype_tiny(dtype))

    def __reduce__(self) -> Any:
        return type(self), (self.number,)  # a copy has variables of its own
