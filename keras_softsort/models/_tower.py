"""The hidden layers of a scorer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import keras
from keras_softsort.layers import MaskedBatchNormalization


class Tower(NamedTuple):
    """The options of hidden layers, checked."""

    hidden_units: tuple[int, ...]
    activation: Any
    dropout: float
    batch_norm: float | None

    @classmethod
    def of(cls, hidden_units: Sequence[int], activation: Any, dropout: float, batch_norm: float | None) -> Tower:
        """Check the options of the user."""
        units = tuple(arguments.positive_integer("hidden_units", each) for each in hidden_units)
        if batch_norm is not None:
            batch_norm = arguments.fraction("batch_norm", batch_norm)
        return cls(units, activation, arguments.fraction("dropout", dropout), batch_norm)

    def hidden(self, inputs: Any, mask: Any, dense: Callable[[Any, int], Any] | None = None) -> Any:
        """Apply for each layer: `dense(inputs, units)` or a `Dense`, batch normalization, activation and dropout."""
        for units in self.hidden_units:
            inputs = dense(inputs, units) if dense else keras.layers.Dense(units)(inputs)
            if self.batch_norm is not None:
                inputs = batch_normalized(inputs, mask, self.batch_norm)
            inputs = keras.layers.Activation(self.activation)(inputs)
            if self.dropout:
                inputs = keras.layers.Dropout(self.dropout)(inputs)
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
