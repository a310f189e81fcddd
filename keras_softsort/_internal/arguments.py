"""Checks of arguments. Each error names the argument, what was expected and what was received."""

from __future__ import annotations

import math
import numbers
import reprlib
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal.not_a_number import or_nan
from keras_softsort._internal.unknown_names import instead_of

DIRECTIONS, DIVISORS = ("ASCENDING", "DESCENDING"), ("at_most_k", "relevant")


def number(name: str, value: Any) -> float:
    """`value` as a finite float."""
    return _number(name, value, "finite", lambda _: True)


def positive_number(name: str, value: Any) -> float:
    """`value` as a float, finite and above 0."""
    return _number(name, value, "positive and finite", lambda number: number > 0)


def non_negative_number(name: str, value: Any) -> float:
    """`value` as a float, finite and at least 0."""
    return _number(name, value, "at least 0 and finite", lambda number: number >= 0)


def fraction(name: str, value: Any) -> float:
    """`value` as a float, at least 0 and below 1."""
    return _number(name, value, "at least 0 and below 1", lambda number: 0 <= number < 1)


def _number(name: str, value: Any, rule: str, holds: Callable[[float], bool]) -> float:
    """`value` as a finite float for which `holds` is true; `rule` says in the error what that means."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    number = float(value)
    if not (math.isfinite(number) and holds(number)):
        raise ValueError(f"{name} must be {rule}, got {value!r}")
    return number


def positive_integer(name: str, value: Any) -> int:
    """`value` as an int, at least 1."""
    return _integer_from(1, name, value)


def optional_positive_integer(name: str, value: Any) -> int | None:
    """`value` as an int, at least 1, or None."""
    return None if value is None else positive_integer(name, value)


def non_negative_integer(name: str, value: Any) -> int:
    """`value` as an int, at least 0."""
    return _integer_from(0, name, value)


def _integer_from(least: int, name: str, value: Any) -> int:
    number = integer(name, value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")
    return number


def integer(name: str, value: Any) -> int:
    """`value` as an int."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        none = "; flatten the tensor to take all its entries as one list" if name == "axis" and value is None else ""
        raise TypeError(f"{name} must be an integer, got {value!r}{none}")
    return int(value)


def optional_integer(name: str, value: Any) -> int | None:
    """`value` as an int, or None."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, numbers.Integral)):
        raise TypeError(f"{name} must be an integer or None, got {value!r}")
    return None if value is None else int(value)


def one_of(name: str, value: Any, choices: Collection[str]) -> str:
    """`value`, which must be one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {sorted(choices)}, got {value!r}{instead_of(value, choices)}")
    return value


def choice(*choices: str) -> Callable[[str, Any], str]:
    """The check that a value is one of `choices`, as a function of the name of the argument and the value."""
    return lambda name, value: one_of(name, value, choices)


def optional(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """The `check` for values that may also be None."""
    return lambda name, value: None if value is None else check(name, value)


def name_or_function(name: str, value: Any, choices: Collection[str]) -> Any:
    """Return `value`, which must be a function or one of `choices`."""
    return value if callable(value) else one_of(name, value, choices)


def boolean(name: str, value: Any) -> bool:
    """`value`, which must be a Python bool (a tensor could not choose the graph)."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return value


def elements(name: str, value: Any, of: str) -> Iterator[Any]:
    """The elements of `value`, an iterable but no text and no mapping. `of` says in the error what the elements are."""
    try:
        iterator = None if isinstance(value, (str, bytes, Mapping)) else iter(value)
    except TypeError:
        iterator = None
    if iterator is None:
        raise TypeError(f"{name} must be a sequence of {of}, got {value!r}")
    return iterator


def mapping(name: str, value: Any, of: str) -> Mapping[Any, Any]:
    """`value`, which must be a dictionary or another mapping; `of` says in the error from what to what."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a dictionary {of}, got {value!r}")
    return value


def function(name: str, value: Any) -> Callable[..., Any]:
    """`value`, which must be a function or another callable."""
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {value!r}")
    return value


def dense_tensor(name: str, value: Any) -> tf.Tensor:
    """Return `value` as a dense tensor of any dtype."""
    if isinstance(value, (tf.RaggedTensor, tf.SparseTensor)):
        raise TypeError(f"{name} must be a dense tensor, got {type(value).__name__}; pad it and pass a mask")
    if type(value).__name__.endswith("KerasTensor"):
        way = "call the operator in keras.layers.Lambda, or use its layer, as SoftRankLayer for soft_rank"
        raise TypeError(f"{name} must be a tensor, got a Keras tensor {value.shape}; {way}")
    try:
        return tf.convert_to_tensor(value)
    except (TypeError, ValueError) as error:  # either error, without the name of the argument
        raise TypeError(f"{name} must be a tensor or convertible to one, got {reprlib.repr(value)}") from error


def floating_tensor(name: str, value: Any) -> tf.Tensor:
    """Return `value` as a dense floating-point tensor of known rank."""
    tensor = dense_tensor(name, value)
    if not tensor.dtype.is_floating:
        raise TypeError(f"{name} must be floating-point, got dtype {tensor.dtype.name}; cast it first")
    if tensor.shape.rank is None:
        raise ValueError(f"{name} must have a known rank, got a tensor of unknown rank")
    return tensor


def real_tensor(name: str, value: Any) -> tf.Tensor:
    """Return `value` as a dense tensor of real numbers: floating-point, integer or bool."""
    tensor = dense_tensor(name, value)
    if not (tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_bool):
        raise TypeError(f"{name} must hold real numbers, got dtype {tensor.dtype.name}")
    return tensor


def checked(tensor: tf.Tensor, condition: bool | tf.Tensor, message: str, *received: Any) -> tf.Tensor:
    """Return `tensor` if the bool scalar `condition` holds, and raise an error otherwise.

    A condition that is known when traced raises a ValueError. Others are checked when run, except under XLA.
    """
    known = tf.get_static_value(condition)
    if known is None:
        with tf.control_dependencies([tf.debugging.Assert(condition, [message, *received])]):
            return tf.identity(tensor)
    if not known:
        values = (tf.get_static_value(value) if tf.is_tensor(value) else value for value in received)
        raise ValueError(" ".join([message, *map(str, values)]))
    return tensor


def matrix_tensor(name: str, value: Any) -> tf.Tensor:
    """Return `value` as a floating-point tensor `[..., n, m]`."""
    tensor = floating_tensor(name, value)
    if tensor.shape.rank < 2:
        raise ValueError(f"{name} must have shape [..., n, m], got {tensor.shape}")
    return tensor


def list_tensor(name: str, value: Any) -> tf.Tensor:
    """Return `value` as a floating-point tensor `[..., n]`."""
    tensor = floating_tensor(name, value)
    if tensor.shape.rank < 1:
        raise ValueError(f"{name} must have shape [..., n], got a scalar")
    return tensor


def temperature(tau: Any, dtype: tf.DType, tensor: tf.Tensor | None = None, inner: int = 1) -> tf.Tensor:
    """Return `tau` in `dtype`: a scalar, or a temperature per list of `tensor`, whose last `inner` axes are a list.

    The result broadcasts against the leading axes of `tensor`. A trailing axis of size 1, as from a `Dense(1)`, is
    dropped. In a tensor, a temperature that is not positive becomes NaN, since its value is unknown when traced.
    """
    if isinstance(tau, numbers.Real):
        return tf.constant(max(positive_number("tau", tau), dtype_tiny(dtype)), dtype)
    tau = floating_tensor("tau", tau)
    leading = tf.TensorShape([]) if tensor is None else tensor.shape[: tensor.shape.rank - inner]
    given = tau.shape
    if given.rank == leading.rank + 1 and given[-1] in (1, None):
        tau = tf.squeeze(tau, axis=-1)
    shape = [1] * (leading.rank - tau.shape.rank) + tau.shape.as_list()
    fits = tau.shape.rank <= leading.rank and all(
        size == 1 or of is None or size in (None, of) for size, of in zip(shape, leading, strict=True)
    )
    if not fits:
        raise ValueError(f"tau must be a scalar or have the shape of the leading axes, {leading}, got shape {given}")
    # Compared before the cast, which may round a positive temperature to 0.
    positive = tf.maximum(tf.cast(tau, dtype), tf.constant(dtype_tiny(dtype), dtype))
    return or_nan(positive, tf.logical_or(tau <= 0, tf.math.is_nan(tau)))


def dtype_tiny(dtype: tf.DType) -> float:
    """The smallest normal number of `dtype`, below which a temperature would be flushed to 0."""
    return float(np.finfo(dtype.as_numpy_dtype).tiny)


def non_negative_tensor(name: str, tensor: tf.Tensor) -> tf.Tensor:
    """Check that no entry of `tensor` is below 0 or NaN, and return it."""
    return checked(tensor, tf.reduce_all(tensor >= 0), f"{name} must not be negative, got", tf.reduce_min(tensor))


def axis_of(name: str, axis: Any, shape: tf.TensorShape) -> int:
    """Return `axis`, an axis of `shape`, as a number from 0."""
    number, rank = integer(name, axis), shape.rank
    if not -rank <= number < rank:
        raise ValueError(f"{name} must be an axis of the shape {shape}, got {axis!r}")
    return number % rank


def list_mask(mask: Any, scores: tf.Tensor, masked: str = "scores") -> tf.Tensor | None:
    """Return `mask` as a bool tensor, checked to have the shape of `scores`, the argument named `masked`."""
    if mask is None:
        return None
    mask = bool_mask("mask", mask)
    if not mask.shape.is_compatible_with(scores.shape):
        raise ValueError(f"mask must have the shape of {masked}, {scores.shape}, got {mask.shape}")
    return of_shape("mask", mask, tf.shape(scores))


def axis_mask(name: str, mask: Any, matrix: tf.Tensor, axis: int) -> tf.Tensor | None:
    """Return `mask` as a bool tensor `[..., size]`, checked to have the size of an axis (-2 or -1) of `matrix`."""
    if mask is None:
        return None
    mask = bool_mask(name, mask)
    expected = matrix.shape[:-2].concatenate([matrix.shape[axis]])
    if not mask.shape.is_compatible_with(expected):
        raise ValueError(f"{name} must have shape {expected}, got {mask.shape}")
    sizes = tf.shape(matrix)
    return of_shape(name, mask, tf.concat([sizes[:-2], [sizes[axis]]], axis=0))


def bool_mask(name: str, mask: Any) -> tf.Tensor:
    """Return `mask` as a bool tensor."""
    mask = dense_tensor(name, mask)
    if mask.dtype != tf.bool:
        raise TypeError(f"{name} must be bool (True for valid items), got dtype {mask.dtype.name}")
    return mask


def of_shape(name: str, tensor: tf.Tensor, expected: tf.Tensor) -> tf.Tensor:
    """Check at run time that `tensor` has the shape `expected`, unless both are known, so that it never broadcasts."""
    if tensor.shape.is_fully_defined() and tf.get_static_value(expected) is not None:
        return tensor
    message = f"{name} must have the same batch and list size, expected and received shape:"
    return checked(tensor, tf.reduce_all(tf.equal(tf.shape(tensor), expected)), message, expected, tf.shape(tensor))


def at_most_list_size(name: str, k: Any, tensor: tf.Tensor) -> tf.Tensor:
    """Check that k, the argument `name`, is at most the list size n of `tensor` [..., n], and return `tensor`."""
    known, size = tf.get_static_value(k), tensor.shape[-1]
    if known is not None and size is not None:
        return checked(tensor, bool(known <= size), f"{name} must be at most the list size, {size}, got {known}")
    received = "" if known is None else f", got {known}"
    return checked(tensor, k <= tf.shape(tensor)[-1], f"{name} must be at most the list size{received}")


def top_k_rows(top_k: int | None, scores: tf.Tensor) -> tf.Tensor:
    """Check that the optional `top_k` is from 1 to the list size of `scores`, and return `scores`."""
    top_k = optional_positive_integer("top_k", top_k)
    return scores if top_k is None else at_most_list_size("top_k", top_k, scores)


def compute_dtype(dtype: tf.DType) -> tf.DType:
    """Return float32 for half precision, and `dtype` for float32 and float64."""
    return tf.float32 if dtype.size < 4 else dtype
