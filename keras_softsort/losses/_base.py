"""Base class of losses: options, the temperature, the reduction."""

from __future__ import annotations

import numbers
from typing import Any, ClassVar

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import PACKAGE
from keras_softsort._keras.compat import IS_KERAS_3, floating_dtype, keras, plain_number, tf_variable
from keras_softsort._keras.options import FixedOptions
from keras_softsort._targets.lists import WeightedLosses, checked_reduction, reduced

NEVER_SET = object()


class Temperature:
    """A positive number, or the variable of a caller. Traced functions read a variable, so they follow a new number.

    There is one per dtype of computations: float32 would cost float64 digits, and a TPU has no float64.
    """

    def __init__(self, given: float | tf.Variable) -> None:
        self._given = given
        self._variables: dict[tf.DType, tf.Variable] = {}

    def _variable(self, dtype: tf.DType) -> tf.Variable | None:
        """The variable that traces read, made for the first one; None in a graph of TensorFlow 1."""
        # A constructor must not make it: TensorFlow would start, and its devices could no longer be configured.
        with tf.init_scope():
            if dtype not in self._variables and tf.executing_eagerly():
                variable = tf.Variable(
                    self._number_in(dtype),
                    dtype=dtype,
                    name="tau",
                    trainable=False,
                    aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
                    experimental_enable_variable_lifting=False,  # with it, `tf.function` would trace twice
                )
                self._variables.setdefault(dtype, variable)  # that of another thread, if it was faster
        return self._variables.get(dtype)

    def _number_in(self, dtype: tf.DType) -> float:
        return max(self.number, arguments.dtype_tiny(dtype))

    @property
    def number(self) -> float:
        """The present number, also within a trace."""
        with tf.init_scope():
            return float(self._given)

    def read(self, dtype: tf.DType) -> Any:
        """The number; in a traced function, and from a variable of the caller, a tensor."""
        if isinstance(self._given, tf.Variable):
            return tf.cast(tf.convert_to_tensor(self._given), dtype)
        variable = None if tf.executing_eagerly() else self._variable(dtype)
        if variable is None:
            return self._given
        tf.compat.v1.add_to_collection("tau", variable)  # a trace may outlive the loss
        return tf.convert_to_tensor(variable)

    def assign(self, number: float) -> None:
        """Change the number, also for functions that are already traced."""
        with tf.init_scope():
            if isinstance(self._given, tf.Variable):
                self._given.assign(number)
                return
            self._given = number
            for dtype, variable in self._variables.items():
                variable.assign(self._number_in(dtype))

    def __reduce__(self) -> Any:
        return type(self), (self.number,)  # a copy has a number, and variables of its own


def checked_tau(value: Any) -> Any:
    """Check that `value` is a positive number, or a scalar variable with one, which stays a variable."""
    variable = tf_variable(value)
    if variable is None:
        return arguments.positive_number("tau", plain_number(value))
    with tf.init_scope():
        arguments.positive_number("tau", plain_number(variable))
    return variable


class WeightedLoss(FixedOptions, keras.losses.Loss):
    """Base class of losses that resolve masks and weights themselves; Keras would apply them to the result of `call`.

    Args:
      **unknown: none is allowed. An unknown name raises an error that suggests the right one.
    """

    _fixed_names: tuple[str, ...] = ("reduction", "dtype")
    # Methods that are never called, and what a subclass overrides instead.
    _instead: ClassVar[dict[str, str]] = {"call": "weighted_losses(y_true, y_pred, sample_weight)"}
    _tau: Any = NEVER_SET

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, hook in cls._instead.items():
            overridden = next(base for base in cls.__mro__ if name in vars(base))
            if not is_of_this_package(overridden):
                raise TypeError(f"{cls.__name__} must not override {name}, which is not called: override {hook}")

    def __init__(
        self,
        *,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
        **unknown: Any,
    ) -> None:
        self._refuse(unknown)
        reduction = checked_reduction(reduction)
        dtype = None if dtype is None else floating_dtype(dtype)
        known = reduction if reduction in ("none", "sum") else "sum_over_batch_size"  # the names of Keras 2
        super().__init__(reduction=known, name=name, **({"dtype": dtype} if IS_KERAS_3 else {}))
        if IS_KERAS_3:  # Keras 2 needs its own name of the mean, to scale it by the number of replicas
            object.__setattr__(self, "reduction", reduction)
        self._given_reduction = reduction
        self._given_dtype = dtype

    @property
    def has_tau(self) -> bool:
        """Whether the loss has a temperature that can be assigned."""
        return isinstance(self._tau, Temperature)

    @property
    def tau(self) -> Any:
        """The temperature: a number. In a traced function, or from a variable, a tensor in the dtype of the loss."""
        if self._tau is NEVER_SET:
            raise AttributeError(f"{type(self).__name__} has no tau")
        if not self.has_tau:
            return self._tau
        return self._tau.read(arguments.compute_dtype(self.given_dtype or tf.float32))

    @tau.setter
    def tau(self, value: Any) -> None:
        if self.has_tau:
            self._tau.assign(arguments.positive_number("tau", plain_number(value)))
        else:
            is_temperature = isinstance(value, numbers.Real) or tf_variable(value) is not None
            self._tau = Temperature(checked_tau(value)) if is_temperature else value

    def _option(self, name: str) -> Any:
        return self._tau.number if name == "tau" and self.has_tau else super()._option(name)

    @property
    def given_dtype(self) -> tf.DType | None:
        return None if self._given_dtype is None else tf.as_dtype(self._given_dtype)

    def options(self, dtype: tf.DType) -> dict[str, Any]:
        """The options of the loss, the temperature in `dtype`."""
        options = {name: getattr(self, name) for name in self._option_names if name != "tau"}
        return {**options, "tau": self._tau.read(dtype)} if self.has_tau else options

    def weighted_losses(self, y_true: Any, y_pred: Any, sample_weight: Any) -> WeightedLosses:
        """The weighted losses [m] and the count that their mean is taken over."""
        raise NotImplementedError

    @tf.autograph.experimental.do_not_convert
    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> tf.Tensor:
        """The reduced loss: the mean, the sum, or with reduction None all losses."""
        with tf.name_scope(self.name or type(self).__name__):
            result = reduced(self.weighted_losses(y_true, y_pred, sample_weight), self._given_reduction)
            return tf.cast(result, self.given_dtype or result.dtype)

    def call(self, y_true: Any, y_pred: Any) -> tf.Tensor:
        """The losses without weights: [m]."""
        return self.weighted_losses(y_true, y_pred, None).values

    def get_config(self) -> dict[str, Any]:
        fixed = {name: self._holds(name, None) for name in self._fixed_names}
        return {**super().get_config(), "name": self.name, **fixed}


def is_of_this_package(defined: Any) -> bool:
    """Whether a class or function is defined here, and not by a user."""
    return defined.__module__.startswith(f"{PACKAGE}.")


def fresh_seed(seed: int | None) -> tf.Tensor:
    """Draw two integers from TensorFlow's stateful generator, which `seed` and `tf.random.set_seed` initialize."""
    # Unlike a layer, a loss has no weights to count its calls, and is never exported.
    drawn = tf.random.uniform([2], maxval=tf.int32.max, dtype=tf.int32, seed=seed)
    context = tf.distribute.get_replica_context()
    # With a seed the generators of all replicas draw the same integers.
    return drawn if context is None else tf.bitwise.bitwise_xor(drawn, context.replica_id_in_sync_group)
