"""The one place that chooses Keras: it is `tf.keras`, and every Keras object of this package subclasses it.

`tf.keras` is Keras 3, Keras 2.15, or `tf_keras` if `TF_USE_LEGACY_KERAS=1` is set.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._keras.backend import tensorflow_keras

keras: Any = tensorflow_keras()
# Keras 2.15 as `tf.keras` has no version of its own.
IS_KERAS_3: bool = getattr(keras, "__version__", "2").startswith("3.")

# Options of a weight that mixed precision does not round.
NO_CAST = {"autocast": False} if IS_KERAS_3 else {"experimental_autocast": False}


def layer_shape(shape: Any) -> Any:
    """A shape as Keras' own layers compute it: a tuple on Keras 3, a `TensorShape` on Keras 2."""
    return tuple(shape) if IS_KERAS_3 else tf.TensorShape(shape)


def exp_of_weight(weight: Any) -> tf.Tensor:
    """Return the number whose logarithm `weight` stores."""
    return tf.exp(tf.convert_to_tensor(weight))


def plain_number(value: Any) -> Any:
    """The number that a scalar array, variable or eager tensor holds; another value unchanged."""
    if not isinstance(value, (np.ndarray, tf.Tensor, tf.Variable, keras.Variable if IS_KERAS_3 else tf.Variable)):
        return value
    known = np.asarray(tf.get_static_value(tf.convert_to_tensor(value)))
    return value if known.ndim else known.item()


def tf_variable(value: Any) -> tf.Variable | None:
    """The TensorFlow variable of a variable, None for another value."""
    inner = value.value if IS_KERAS_3 and isinstance(value, keras.Variable) else value
    return inner if isinstance(inner, tf.Variable) else None


def floating_dtype(dtype: Any) -> str:
    """The name of a floating-point `dtype`, which may be a Keras policy or the name of one."""
    known = _as_dtype(dtype)
    if known is None and isinstance(dtype, str):
        with contextlib.suppress(ValueError):  # the name of no policy
            known = _as_dtype(keras.mixed_precision.Policy(dtype))
    if known is None or not known.is_floating:
        raise ValueError(f"dtype must be floating-point, got {dtype!r}")
    return known.name


def _as_dtype(dtype: Any) -> tf.DType | None:
    try:
        return tf.as_dtype(getattr(dtype, "compute_dtype", dtype))
    except TypeError:
        return None


def assign_parts(variable: Any, parts: list[Any]) -> None:
    """Fill a weight of a layer with arrays that follow each other on its first axis, and empty the list of them."""
    inner = variable.value if IS_KERAS_3 else variable
    if len(parts) == 1 or tf.distribute.has_strategy() or not isinstance(inner, tf.Variable):
        variable.assign(np.concatenate(parts))
        parts.clear()
        return
    start, dtype = 0, inner.dtype.as_numpy_dtype
    parts.reverse()
    while parts:  # each is freed when it is written, so that there are no two copies of all
        part = parts.pop()
        inner[start : start + len(part)].assign(part.astype(dtype, copy=False))
        start += len(part)


def add_scalar_weight(layer: Any, name: str, value: float, *, trainable: bool = False) -> Any:
    """Add a scalar weight that mixed precision does not round to half precision."""
    dtype = "float64" if layer.compute_dtype == "float64" else "float32"
    return layer.add_weight(
        name=name,
        shape=(),
        dtype=dtype,
        # Keras' Constant initializer would round the value to float32.
        initializer=lambda shape, dtype: tf.constant(value, dtype, shape),
        trainable=trainable,
        **NO_CAST,
    )


def mask_of_call(inputs: Any, mask: Any) -> Any:
    """The `mask` that a layer was called with, or else the Keras masks of its inputs, None if no input has one.

    Keras 3 hands them to a layer only if its call has no other tensor, such as `training` or a second mask.
    """
    if mask is not None or not IS_KERAS_3:
        return mask
    if all(getattr(each, "_keras_mask", None) is None for each in tf.nest.flatten(inputs)):
        return None
    return tf.nest.map_structure(lambda each: getattr(each, "_keras_mask", None), inputs)


def build_self_attention(layer: Any, shape: tuple[int | None, ...]) -> None:
    """Build a `MultiHeadAttention` of a sequence on itself, before it is called."""
    if IS_KERAS_3:
        layer.build(shape, shape)
    else:
        layer._build_from_signature(shape, shape)
