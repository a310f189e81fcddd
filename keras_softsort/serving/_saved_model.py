"""What a SavedModel on disk says of its signatures, and requests checked against it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2


def signature_inputs(folder: Path, signature_name: str) -> dict[str, tf.TensorSpec]:
    """The inputs of a signature, in the order of their names."""
    path = Path(folder) / "saved_model.pb"
    if not path.exists():
        raise FileNotFoundError(f"path must be the folder of a SavedModel, with a saved_model.pb, got {folder}")
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    signatures = saved.meta_graphs[0].signature_def
    names = sorted(name for name in signatures if not name.startswith("__"))
    if signature_name not in names:
        raise ValueError(f"signature_name must be one of {names}, got {signature_name!r}")
    inputs = signatures[signature_name].inputs
    return {
        name: tf.TensorSpec(tf.TensorShape(inputs[name].tensor_shape), tf.as_dtype(inputs[name].dtype), name)
        for name in sorted(inputs)
    }


def checked_request(specs: Mapping[str, tf.TensorSpec], request: Any) -> dict[str, np.ndarray]:
    """The inputs of a request as arrays of the signature's dtypes; strings as objects."""
    if not isinstance(request, Mapping) or set(request) != set(specs):
        came = sorted(request) if isinstance(request, Mapping) else repr(request)
        raise ValueError(f"a request must have the inputs {sorted(specs)} of its signature, got {came}")
    return {name: _checked_input(name, request[name], spec) for name, spec in specs.items()}


def _checked_input(name: str, value: Any, spec: tf.TensorSpec) -> np.ndarray:
    try:
        if spec.dtype == tf.string:  # NumPy would cut zeros off the ends of bytes
            array = tf.convert_to_tensor(value, tf.string).numpy()
        else:
            array = np.asarray(value)
            if not np.can_cast(array.dtype, spec.dtype.as_numpy_dtype, "same_kind"):
                raise TypeError(f"{array.dtype} would be cut to {spec.dtype.name}")
            array = array.astype(spec.dtype.as_numpy_dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be of dtype {spec.dtype.name}, got {value!r}") from error
    if not spec.shape.is_compatible_with(np.shape(array)):
        raise ValueError(f"{name} must have shape {spec.shape}, got {np.shape(array)}")
    return array
