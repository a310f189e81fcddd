"""The inputs of a scorer, made from descriptions of its features."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import keras
from keras_softsort.layers import ConcatFeatures

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
    """Make the inputs for these features."""
    context = _inputs("context_features", context_features or {}, ())
    mask = None if mask_name is None else keras.Input((None,), dtype="bool", name=mask_name)
    is_single = not isinstance(example_features, Mapping)
    if is_single:
        width = arguments.positive_integer("example_features", example_features)
        items = {SINGLE: keras.Input((None, width), name=SINGLE)}
    else:
        items = _inputs("example_features", example_features, (None,))
    if not items:
        raise ValueError("example_features must hold at least one feature, got none")
    names = [*items, *context, *([] if mask_name is None else [mask_name])]
    if len(set(names)) != len(names):
        raise ValueError(f"features and mask_name must have distinct names, got {sorted(names)}")
    if is_single and len(names) == 1:
        return ScorerInputs(items, context, mask, items[SINGLE])
    return ScorerInputs(items, context, mask, {**items, **context, **({} if mask_name is None else {mask_name: mask})})


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
