"""Base class of the distributions over orders, and checks of arguments that may be variables, and then stay so."""

from __future__ import annotations

import numbers
from typing import Any

import tensorflow as tf
import tensorflow_probability as tfp
from tensorflow_probability import distributions as tfd

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort.ops.core import gumbel_noise

VARIABLES = (tf.Variable, tfp.util.DeferredTensor)


class OrderDistribution(tfd.AutoCompositeTensorDistribution):
    """A distribution over orders with `logits` `[..., n]`, an optional mask and its `parameters` as attributes."""

    def __init__(
        self, parameters: dict[str, Any], *, reparameterization_type: Any, dtype: tf.DType | None = None
    ) -> None:
        top_k = parameters["top_k"]
        with tf.name_scope(parameters["name"]) as scope:
            self.logits = _variable_or(arguments.list_tensor("logits", parameters["logits"]), parameters["logits"])
            self.top_k = None if top_k is None else checked_count("top_k", top_k, self.logits)
            self.mask = arguments.list_mask(parameters["mask"], self.logits, masked="logits")
            super().__init__(
                dtype=dtype or self.logits.dtype,
                reparameterization_type=reparameterization_type,
                validate_args=arguments.boolean("validate_args", parameters["validate_args"]),
                allow_nan_stats=arguments.boolean("allow_nan_stats", parameters["allow_nan_stats"]),
                parameters=parameters,
                name=scope,
            )

    def _wide_logits(self) -> tf.Tensor:
        """The logits in the compute dtype. A variable is read once."""
        logits = arguments.top_k_rows(self.top_k, tf.convert_to_tensor(self.logits))
        return tf.cast(logits, compute_dtype(logits.dtype))

    def _keys(self, logits: tf.Tensor, samples: Any, seed: Any) -> tf.Tensor:
        """Logits plus Gumbel noise `[samples, ..., n]`, whose order is an order of this distribution."""
        shape = tf.concat([[samples], tf.shape(logits)], axis=0)
        return logits + gumbel_noise.gumbel(shape, tfp.random.sanitize_seed(seed), logits.dtype)

    def _event_size(self) -> Any:
        """The number of ranks in an event, a Python int if it is known."""
        return self._list_size() if self.top_k is None else self.top_k

    def _list_size(self) -> Any:
        """The number of items, a Python int if it is known."""
        known = self.logits.shape[-1]
        return tf.shape(self.logits)[-1] if known is None else known

    def _default_event_space_bijector(self) -> None:
        """None: orders are discrete, and no bijector maps onto the soft permutations of a method."""
        return None


def tau_parameter(value: Any, dtype: tf.DType) -> Any:
    """Return `value` as a floating-point tensor, or unchanged if it is a variable. A number gets `dtype`."""
    if isinstance(value, numbers.Real):
        return arguments.temperature(value, dtype)
    return _variable_or(arguments.floating_tensor("tau", value), value)


def _variable_or(tensor: tf.Tensor, value: Any) -> Any:
    """Return `value` if it is a variable, or a function of one, which must be read anew each time; else `tensor`."""
    within = getattr(value, "value", None)  # a variable of Keras 3 holds one of TensorFlow
    return next((each for each in (value, within) if isinstance(each, VARIABLES)), tensor)


def order_dtype(value: Any) -> tf.DType:
    """Return `value` as a dtype of orders."""
    if value not in (tf.int32, tf.int64):
        raise ValueError(f"dtype must be int32 or int64, got {value!r}")
    return tf.as_dtype(value)


def checked_count(name: str, value: Any, logits: Any) -> int:
    """Return `value` as an int, at least 1 and at most a known list size."""
    count, size = arguments.positive_integer(name, value), logits.shape[-1]
    if size is not None and count > size:
        raise ValueError(f"{name} must be at most the list size, {size}, got {count}")
    return count
