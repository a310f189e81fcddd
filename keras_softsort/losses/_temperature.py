"""The temperature of a loss: a number that can be assigned after the loss was traced, or a variable of the caller."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._keras.compat import number_of, tf_variable


def checked_tau(value: Any) -> Any:
    """Check that `value` is a positive number, or a scalar variable with one, which stays a variable."""
    variable = tf_variable(value)
    if variable is None:
        return arguments.positive_number("tau", number_of(value))
    with tf.init_scope():
        arguments.positive_number("tau", number_of(variable))
    return variable


class Temperature:
    """A positive number. Traced functions read it from a variable, so that a new number needs no new trace.

    The variable is the one that is given. For a number it is made when a function is first traced, one per dtype, so a
    loss that is only called eagerly has none. In a loss that is itself made while a function is traced, a number cannot
    be assigned and is a constant.
    """

    def __init__(self, given: float | tf.Variable) -> None:
        self._given = given
        self.dtype = tf.float32  # the dtype of the computation
        self._is_constant = not isinstance(given, tf.Variable) and not tf.executing_eagerly()
        self._variables: dict[tf.DType, tf.Variable] = {}

    @property
    def number(self) -> float:
        """The present number, also within a trace."""
        with tf.init_scope():
            return float(self._given)

    def read(self) -> Any:
        """The number; in a traced function, and from a variable of the caller, a tensor."""
        dtype = self.dtype
        if isinstance(self._given, tf.Variable):
            return tf.cast(tf.convert_to_tensor(self._given), dtype)
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
        with tf.init_scope():
            if isinstance(self._given, tf.Variable):
                self._given.assign(number)
                return
            self._given = number
            for dtype, variable in self._variables.items():
                variable.assign(self._of_dtype(dtype))

    def _of_dtype(self, dtype: tf.DType) -> float:
        return max(self.number, arguments.dtype_tiny(dtype))

    def __reduce__(self) -> Any:
        return type(self), (self.number,)  # a copy has a number, and variables of its own
