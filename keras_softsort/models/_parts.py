"""The inputs of a scorer, made from descriptions of its features, and its hidden layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._keras.compat import keras
from keras_softsort.layers import ConcatFeatures, MaskedBatchNormalization

Features: TypeAlias = "int | Mapping[str, Any]"
SINGLE = "features"


class ScorerInputs(NamedTuple):
    """Keras inputs: of items and of lists by name, the mask of valid items or `None`, and all that the model takes."""

    items: dict[str, Any]
    context: dict[str, Any]
    mask: Any
    structure: Any

    def joined(self, *, with_context: bool) -> Any:
        """Concatenate the features of items `[batch, n, d]`, with or without those of their lists."""
        context = self.context if with_context and self.context else None
        return ConcatFeatures(name="concat_features")(self.items, context_features=context, mask=self.mask)


def scorer_inputs(example_features: Features, context_features: Any, mask_name: str | None) -> ScorerInputs:
    context = _inputs("context_features", context_features or {}, ())
    masks = {} if mask_name is None else {mask_name: keras.Input((None,), dtype="bool", name=mask_name)}
    is_single = not isinstance(example_features, Mapping)
    if is_single:
        width = arguments.positive_integer("example_features", example_features)
        items = {SINGLE: keras.Input((None, width), name=SINGLE)}
    else:
        items = _inputs("example_features", example_features, (None,))
    if not items:
        raise ValueError("example_features must hold at least one feature, got none")
    names = [*items, *context, *masks]
    if len(set(names)) != len(names):
        raise ValueError(f"features and mask_name must have distinct names, got {sorted(names)}")
    structure = items[SINGLE] if is_single and len(names) == 1 else {**items, **context, **masks}
    return ScorerInputs(items, context, next(iter(masks.values()), None), structure)


def _inputs(argument: str, features: Any, leading: tuple[None, ...]) -> dict[str, Any]:
    arguments.mapping(argument, features, "of features by name")
    shapes = {name: (*leading, *_shape(argument, name, spec, leading)) for name, spec in features.items()}
    dtypes = {name: tf.as_dtype(spec.dtype).name for name, spec in features.items()}
    return {name: keras.Input(shape, dtype=dtypes[name], name=name) for name, shape in shapes.items()}


def _shape(argument: str, name: str, spec: Any, leading: tuple[None, ...]) -> tuple[int, ...]:
    """Check that a feature is numbers of a known shape, and return the shape."""
    if not (hasattr(spec, "shape") and hasattr(spec, "dtype")):
        raise TypeError(
            f"{argument} must hold values with a shape and a dtype, as tf.io.FixedLenFeature, got {name!r}: {spec!r}"
        )
    shape = tuple(tf.TensorShape(spec.shape))
    if tf.as_dtype(spec.dtype) in (tf.string, tf.bool) or None in shape or not math.prod(shape):
        raise ValueError(
            f"{argument} must be numbers of known shapes, got {name!r}: {spec!r}; embed other features first"
        )
    if not shape and not leading:
        raise ValueError(f"{argument} must have shape [d], which is [1] for one number, got {name!r} of shape []")
    return shape


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
                inputs = MaskedBatchNormalization(momentum=self._batch_norm)(inputs, mask=mask)
            inputs = keras.layers.Activation(self._activation)(inputs)
            if self._dropout:
                inputs = keras.layers.Dropout(self._dropout)(inputs)
        return inputs


def normalized_features(features: Any, mask: Any, input_normalization: Any) -> Any:
    """Apply `input_normalization` to the features of items."""
    if input_normalization is None:
        return features
    if isinstance(input_normalization, keras.layers.Layer):
        return input_normalization(features)
    arguments.one_of("input_normalization", input_normalization, ("batch",))
    return MaskedBatchNormalization()(features, mask=mask)
