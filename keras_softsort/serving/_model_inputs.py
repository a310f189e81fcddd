"""The inputs of a model by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._keras.backend import tensorflow_keras
from keras_softsort.serving._saved_model import SINGLE, has_items


class ModelInputs(NamedTuple):
    """The specs of the inputs, with an unknown batch, and the structure in which the model takes them."""

    specs: dict[str, tf.TensorSpec]
    structure: Any  # a nest of names
    mask_name: str | None

    @property
    def item_inputs(self) -> list[str]:
        """The inputs that have a row per item: all but the mask and inputs of shape `[batch, known size]`."""
        return [name for name in self.request_inputs if has_items(self.specs[name])]

    @property
    def request_inputs(self) -> list[str]:
        """The inputs of a request: all but the mask, which is derived from the sizes."""
        return [name for name in self.specs if name != self.mask_name]


def model_inputs(model: Any, features: Any, mask_name: str | None) -> ModelInputs:
    """Find the inputs of a built Keras model, from the caller's `features` if they are given."""
    if not isinstance(model, tensorflow_keras().Model):
        raise TypeError(f"model must be a Keras model, got {type(model).__name__}")
    if not model.built:
        raise ValueError(f"model must be built: give {model.name!r} an Input, or call it on data once")
    structure = features
    if features is None:
        if not getattr(model, "inputs", None):
            raise ValueError(
                f"features must be a tf.TensorSpec or a dictionary of them: {model.name!r} does not know its inputs"
            )
        structure = model.inputs[0] if isinstance(model, tensorflow_keras().Sequential) else model.input
    names: Any = SINGLE
    if isinstance(structure, Mapping):
        names = {name: name for name in structure}
    elif isinstance(structure, (list, tuple)):
        names = [getattr(tensor, "name", None) for tensor in structure]
        structure = dict(zip(names, structure, strict=True))
    else:
        structure = {SINGLE: structure}
    specs = {name: _spec(name, value) for name, value in structure.items()}
    if mask_name is not None and mask_name not in specs:
        raise ValueError(f"mask_name must be an input of the model, one of {list(specs)}, got {mask_name!r}")
    inputs = ModelInputs(specs, names, mask_name)
    if not inputs.item_inputs:
        shapes = {name: spec.shape.as_list() for name, spec in specs.items()}
        raise ValueError(f"features must have an input of the items, [batch, n, ...] or [batch, None], got {shapes}")
    return inputs


def _spec(name: str, value: Any) -> tf.TensorSpec:
    spec = getattr(value, "type_spec", value)  # the attribute of a Keras 2 tensor
    if not (hasattr(spec, "shape") and hasattr(spec, "dtype")) or isinstance(
        spec, (tf.RaggedTensorSpec, tf.SparseTensorSpec)
    ):
        raise TypeError(f"features must be dense tensors, one or a flat structure of them, got {name!r}: {value!r}")
    shape = tf.TensorShape(spec.shape)
    if shape.rank is None or shape.rank < 2:
        raise ValueError(f"features must have shape [batch, n, ...] or [batch, d], got {name!r} of shape {shape}")
    return tf.TensorSpec([None, *shape[1:]], spec.dtype, name=name)
