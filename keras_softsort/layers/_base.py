"""What all sorting layers share: the temperature as a weight, the check of the input, the mask handed on."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._keras import add_scalar_weight, keras
from keras_softsort.ops import _checks


class SortingLayer(keras.layers.Layer):
    """A layer on scores `[batch, n]` with a temperature.

    `layer.tau` is a weight that is not trained: `TauSchedule` or `layer.tau.assign(...)` change it during training
    without a new trace, and it is saved and exported with the model.
    """

    def __init__(self, tau: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self._initial_tau = _checks.positive_number("tau", tau)
        self.tau = add_scalar_weight(self, "tau", self._initial_tau)

    def build(self, input_shape: Any) -> None:
        """Check that the input is a batch of lists."""
        if len(input_shape) != 2:
            raise ValueError(f"{self.name}: scores must have shape [batch, n], got {tuple(input_shape)}")
        self.built = True

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "tau": self._initial_tau}


def checked_output(name: str, output: str, outputs: tuple[str, ...]) -> str:
    """`output`, one of what the layer `name` offers."""
    try:
        return _checks.one_of("output", output, outputs)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def leading_ranks(mask: Any, count: int | None = None) -> Any:
    """The mask of sorted items: as many leading ranks as there are kept items, of all ranks or the first `count`."""
    if mask is None:
        return None
    kept = tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1)
    return tf.sequence_mask(kept, tf.shape(mask)[-1])[:, :count]
