"""Base class of the distributions over orders."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow_probability import distributions as tfd

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort.distributions import _arguments


class OrderDistribution(tfd.AutoCompositeTensorDistribution):
    """A distribution over orders with `logits` `[..., n]` and an optional mask. It is a composite tensor.

    `parameters` are the arguments of the constructor, as TFP takes them. The dtype of samples is that of the logits
    unless `dtype` is given.
    """

    def __init__(
        self, parameters: dict[str, Any], *, reparameterization_type: Any, dtype: tf.DType | None = None
    ) -> None:
        top_k = parameters["top_k"]
        with tf.name_scope(parameters["name"]) as scope:
            self._logits = _arguments.logits_parameter(parameters["logits"])
            self._top_k = None if top_k is None else _arguments.checked_count("top_k", top_k, self._logits)
            self._mask = arguments.list_mask(parameters["mask"], self._logits, masked="logits")
            super().__init__(
                dtype=dtype or self._logits.dtype,
                reparameterization_type=reparameterization_type,
                validate_args=arguments.boolean("validate_args", parameters["validate_args"]),
                allow_nan_stats=arguments.boolean("allow_nan_stats", parameters["allow_nan_stats"]),
                parameters=parameters,
                name=scope,
            )

    @property
    def logits(self) -> Any:
        """The argument `logits`, as a tensor or a variable."""
        return self._logits

    @property
    def top_k(self) -> int | None:
        """The argument `top_k`."""
        return self._top_k

    @property
    def mask(self) -> tf.Tensor | None:
        """The argument `mask`, as a tensor."""
        return self._mask

    def _wide_logits(self) -> tf.Tensor:
        """The logits in the compute dtype. A variable is read once."""
        logits = arguments.top_k_rows(self._top_k, tf.convert_to_tensor(self._logits))
        return tf.cast(logits, compute_dtype(logits.dtype))

    def _event_size(self) -> Any:
        """The number of ranks in an event, a Python int if it is known."""
        if self._top_k is not None:
            return self._top_k
        return self._list_size()

    def _list_size(self) -> Any:
        """The number of items, a Python int if it is known."""
        known = self._logits.shape[-1]
        return tf.shape(self._logits)[-1] if known is None else known

    def _default_event_space_bijector(self) -> None:
        """None: orders are discrete, and no bijector maps onto the soft permutations of a method."""
        return None
