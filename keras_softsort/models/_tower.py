"""The hidden layers of a scorer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import keras
from keras_softsort.layers import MaskedBatchNormalization


class Tower:
    """The hidden layers of a scorer, made anew for each input."""

    def __init__(self, hidden_units: Sequence[int], activation: Any, dropout: float, batch_norm: float | None) -> None:
        self.hidden_units = [arguments.positive_integer("hidden_units", each) for each in hidden_units]
        self._activation = activation
        self._dropout = arguments.fraction("dropout", dropout)
        self._batch_norm = None if batch_norm is None else arguments.fraction("batch_norm", batch_norm)

    def hidden(self, inputs: Any, mask: Any, dense: Callable[[Any, int], Any] | None = None) -> Any:
        """Apply for each layer: `dense(inputs, units)` or a `Dense`, batch normalization, activation and dropout."""
        for units in self.hidden_units:
            inputs = dense(inputs, units) if dense else keras.layers.Dense(units)(inputs)
            if self._batch_norm is not None:
                inputs = batch_normalized(inputs, mask, self._batch_norm)
            inputs = keras.layers.Activation(self._activation)(inputs)
            if self._dropout:
                inputs = keras.layers.Dropout(self._dropout)(inputs)
        return inputs


def batch_normalized(inputs: Any, mask: Any, momentum: float) -> Any:
    """Normalize features `[batch, n, ...]` by the mean and variance of the valid items of a batch."""
    return MaskedBatchNormalization(momentum=momentum)(inputs, mask=mask)


def normalized(features: Any, mask: Any, input_normalization: Any) -> Any:
    """Apply `input_normalization` to the features of items."""
    if input_normalization is None:
        return features
    if isinstance(input_normalization, keras.layers.Layer):
        return input_normalization(features)
    arguments.one_of("input_normalization", input_normalization, ("batch",))
    return batch_normalized(features, mask, 0.99)
