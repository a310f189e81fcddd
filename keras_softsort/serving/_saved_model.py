"""The signatures of a SavedModel on disk, and requests checked against them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_softsort.data.arrays import fitted

# The names of signatures, of their inputs and of their output.
DEFAULT, WITH_IDS, ELWC = "serving_default", "with_ids", "elwc"
# The signature for single items. TensorFlow Serving's Regress API sets the names.
REGRESS = "regress"
SIZES, IDS, SERIALIZED = "sizes", "item_ids", "serialized"
SCORES = "scores"
SINGLE = "features"  # the input of a model that takes one tensor
REQUESTS = "dictionaries, one per request"  # in errors


def signature(folder: Path, signature_name: str) -> Any:
    """Read a signature, a `SignatureDef`, from a SavedModel."""
    saved = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    signatures = saved.meta_graphs[0].signature_def
    names = sorted(name for name in signatures if not name.startswith("__"))
    if signature_name not in names:
        raise ValueError(f"signature_name must be one of {names}, got {signature_name!r}")
    return signatures[signature_name]


def signature_inputs(folder: Path, signature_name: str) -> dict[str, tf.TensorSpec]:
    """Read the inputs of a signature, in the order of their names."""
    inputs = signature(folder, signature_name).inputs
    return {
        name: tf.TensorSpec(tf.TensorShape(inputs[name].tensor_shape), tf.as_dtype(inputs[name].dtype), name)
        for name in sorted(inputs)
    }


def has_items(spec: tf.TensorSpec) -> bool:
    """Whether an input has a row per item: `[batch, n, ...]` and `[batch, None]` do, `[batch, known size]` does not."""
    rank = spec.shape.rank or 0
    return rank > 2 or (rank == 2 and spec.shape[1] is None)


def finish_export(folder: Path) -> None:
    """Mark the signature of the Regress API. Remove references to custom gradients, which would cause warnings."""
    path = folder / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    for meta_graph in saved.meta_graphs:
        if REGRESS in meta_graph.signature_def:
            meta_graph.signature_def[REGRESS].method_name = tf.saved_model.REGRESS_METHOD_NAME
        library = meta_graph.graph_def.library
        for nodes in (meta_graph.graph_def.node, *(function.node_def for function in library.function)):
            for node in nodes:
                node.attr.pop("_gradient_op_type", None)
    path.write_bytes(saved.SerializeToString(deterministic=True))
    (folder / "fingerprint.pb").unlink(missing_ok=True)  # optional, and no longer valid


def checked_request(specs: Mapping[str, tf.TensorSpec], request: Any) -> dict[str, np.ndarray]:
    """Convert the inputs of a request to arrays of the signature's dtypes; strings become objects."""
    if not isinstance(request, Mapping) or set(request) != set(specs):
        received = sorted(request) if isinstance(request, Mapping) else repr(request)
        raise ValueError(f"a request must have the inputs {sorted(specs)} of its signature, got {received}")
    arrays = {name: checked_array(request[name], spec.dtype, spec.shape, name) for name, spec in specs.items()}
    if SIZES in specs and specs[SIZES].dtype == tf.int32:
        _check_lists(specs, arrays)
    return arrays


def checked_array(value: Any, dtype: tf.DType, shape: tf.TensorShape, title: str) -> np.ndarray:
    """Convert `value`, which errors name `title`, to an array of this dtype and shape; strings become objects."""
    try:
        array = np.asarray(value)
    except ValueError as error:  # NumPy cannot make an array of rows of different lengths
        raise ValueError(f"{title} must have shape {shape}, got rows of different lengths") from error
    if not shape.is_compatible_with(array.shape):
        raise ValueError(f"{title} must have shape {shape}, got {array.shape}")
    if dtype != tf.string:
        return fitted(array, dtype, title)
    try:  # NumPy would cut zeros off the ends of bytes
        return tf.convert_to_tensor(value, tf.string).numpy()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{title} must be of dtype string, got {value!r}") from error


def _check_lists(specs: Mapping[str, tf.TensorSpec], request: Mapping[str, np.ndarray]) -> None:
    """Raise an error if the inputs of a request for a ranker differ in their lists or items, or `sizes` do not fit."""
    item_inputs = [name for name, spec in specs.items() if has_items(spec)]
    if not item_inputs:
        return
    lists = {name: len(request[name]) for name in specs if specs[name].shape.rank}
    items = {name: np.shape(request[name])[1] for name in item_inputs}
    for what, counts in (("lists", lists), ("items", items)):
        if len(set(counts.values())) > 1:
            raise ValueError(f"the inputs of a request must have the same number of {what}, got {counts}")
    sizes, n = request[SIZES], np.shape(request[item_inputs[0]])[1]
    if np.any((sizes < 0) | (sizes > n)):
        raise ValueError(f"{SIZES} must be from 0 to the list size {n}, got {sizes.tolist()}")
