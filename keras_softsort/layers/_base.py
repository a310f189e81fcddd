"""What layers with a temperature share: it as a weight, the check of the input, the mask handed on."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import IS_KERAS_3, add_scalar_weight, keras


class TemperatureLayer(keras.layers.Layer):
    """A layer that starts from a temperature, and passes masks on."""

    def __init__(self, tau: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self._initial_tau = arguments.positive_number("tau", tau)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "tau": self._initial_tau}


class SortingLayer(TemperatureLayer):
    """A layer on scores `[batch, n]` with a temperature.

    `layer.tau` is a weight that is not trained: `TauSchedule` or `layer.tau.assign(...)` change it during training
    without a new trace, and it is saved and exported with the model.
    """

    def __init__(self, tau: float = 1.0, **kwargs: Any) -> None:
        super().__init__(tau, **kwargs)
        self.tau = add_scalar_weight(self, "tau", self._initial_tau)

    def build(self, input_shape: Any) -> None:
        """Check that the input is a batch of lists."""
        if len(input_shape) != 2:
            raise ValueError(f"{self.name}: scores must have shape [batch, n], got {tuple(input_shape)}")
        self.built = True


def leading_ranks(mask: Any, count: int | None = None) -> Any:
    """The mask of sorted items: as many leading ranks as there are kept items, of all ranks or the first `count`."""
    if mask is None:
        return None
    if IS_KERAS_3:  # which hands symbolic masks to `compute_mask`, and these only its own operations take
        kept = keras.ops.cast(mask, "int32")
        ranks = keras.ops.cumsum(keras.ops.ones_like(kept), axis=-1)
        return (ranks <= keras.ops.sum(kept, axis=-1, keepdims=True))[:, :count]
    kept = tf.cast(mask, tf.int32)
    ranks = tf.cumsum(tf.ones_like(kept), axis=-1)
    return (ranks <= tf.reduce_sum(kept, axis=-1, keepdims=True))[:, :count]
