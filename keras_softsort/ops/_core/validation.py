"""Argument checks that every operator shares: each names the argument, what was expected and what came."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments


def floating_tensor(name: str, value: Any) -> tf.Tensor:
    """`value` as a dense floating-point tensor of known rank."""
    if isinstance(value, (tf.RaggedTensor, tf.SparseTensor)):
        raise TypeError(f"{name} must be a dense tensor, got {type(value).__name__}; pad it and pass a mask")
    tensor = tf.convert_to_tensor(value)
    if not tensor.dtype.is_floating:
        raise TypeError(f"{name} must be floating-point, got dtype {tensor.dtype.name}; cast it first")
    if tensor.shape.rank is None:
        raise ValueError(f"{name} must have a known rank, got a tensor of unknown rank")
    return tensor


def matrix_tensor(name: str, value: Any) -> tf.Tensor:
    """`value` as a floating-point tensor `[..., n, m]`."""
    tensor = floating_tensor(name, value)
    if tensor.shape.rank < 2:
        raise ValueError(f"{name} must have shape [..., n, m], got {tensor.shape}")
    return tensor


def list_tensor(name: str, value: Any) -> tf.Tensor:
    """`value` as a floating-point tensor `[..., n]`."""
    tensor = floating_tensor(name, value)
    if tensor.shape.rank < 1:
        raise ValueError(f"{name} must have shape [..., n], got a scalar")
    return tensor


def temperature(tau: Any, dtype: tf.DType, tensor: tf.Tensor | None = None, inner: int = 1) -> tf.Tensor:
    """`tau` in `dtype`, one for all or, given `tensor`, one per list: its last `inner` axes are one list.

    The result is a scalar or broadcasts against the leading axes of `tensor`; a trailing axis of size 1, as a
    `Dense(1)` gives it, is dropped. A value that is not positive becomes NaN, since it is not known here.
    """
    if isinstance(tau, numbers.Real):
        return tf.constant(max(arguments.positive_number("tau", tau), dtype_tiny(dtype)), dtype)
    tau = floating_tensor("tau", tau)
    leading = tf.TensorShape([]) if tensor is None else tensor.shape[: tensor.shape.rank - inner]
    given = tau.shape
    if given.rank == leading.rank + 1 and given[-1] == 1:
        tau = tf.squeeze(tau, axis=-1)
    shape = [1] * (leading.rank - tau.shape.rank) + tau.shape.as_list()
    fits = tau.shape.rank <= leading.rank and all(
        size == 1 or of is None or size in (None, of) for size, of in zip(shape, leading, strict=True)
    )
    if not fits:
        raise ValueError(f"tau must be a scalar or have the shape of the leading axes, {leading}, got shape {given}")
    # Compared before the cast, which may round a positive temperature to 0.
    positive = tf.maximum(tf.cast(tau, dtype), tf.constant(dtype_tiny(dtype), dtype))
    return tf.where(tau > 0, positive, tf.constant(math.nan, dtype))


def dtype_tiny(dtype: tf.DType) -> float:
    """The smallest normal number of `dtype`, below which a temperature would be flushed to 0."""
    return float(np.finfo(dtype.as_numpy_dtype).tiny)


def non_negative_tensor(name: str, tensor: tf.Tensor) -> tf.Tensor:
    """`tensor`, checked to hold nothing below 0: now if its values are known, else when run."""
    known = tf.get_static_value(tensor)
    if known is not None:
        if np.any(known < 0):
            raise ValueError(f"{name} must not be negative, got {np.min(known)}")
        return tensor
    right = tf.logical_not(tf.reduce_any(tensor < 0))
    check = tf.debugging.Assert(right, [f"{name} must not be negative, got", tf.reduce_min(tensor)])
    with tf.control_dependencies([check]):
        return tf.identity(tensor)


def axis_of(name: str, axis: Any, tensor: tf.Tensor) -> int:
    """`axis` of `tensor`, counted from the front."""
    number, rank = arguments.integer(name, axis), tensor.shape.rank
    if not -rank <= number < rank:
        raise ValueError(f"{name} must be an axis of the shape {tensor.shape}, got {axis!r}")
    return number % rank


def list_mask(mask: Any, scores: tf.Tensor, masked: str = "scores") -> tf.Tensor | None:
    """`mask` as a bool tensor of the shape of `scores`, the argument `masked`, never broadcast."""
    if mask is None:
        return None
    mask = bool_mask("mask", mask)
    if not mask.shape.is_compatible_with(scores.shape):
        raise ValueError(f"mask must have the shape of {masked}, {scores.shape}, got {mask.shape}")
    return of_shape("mask", mask, tf.shape(scores))


def axis_mask(name: str, mask: Any, matrix: tf.Tensor, axis: int) -> tf.Tensor | None:
    """`mask` as a bool tensor `[..., size]` for an axis (-2 or -1) of `matrix`, never broadcast."""
    if mask is None:
        return None
    mask = bool_mask(name, mask)
    expected = matrix.shape[:-2].concatenate(matrix.shape[axis])
    if not mask.shape.is_compatible_with(expected):
        raise ValueError(f"{name} must have shape {expected}, got {mask.shape}")
    sizes = tf.shape(matrix)
    return of_shape(name, mask, tf.concat([sizes[:-2], [sizes[axis]]], axis=0))


def bool_mask(name: str, mask: Any) -> tf.Tensor:
    """`mask` as a bool tensor."""
    mask = tf.convert_to_tensor(mask)
    if mask.dtype != tf.bool:
        raise TypeError(f"{name} must be bool (True = keep), got dtype {mask.dtype.name}")
    return mask


def of_shape(name: str, tensor: tf.Tensor, expected: tf.Tensor) -> tf.Tensor:
    """`tensor`, checked when run to have the shape `expected` if it is unknown when traced, lest it be broadcast."""
    if tensor.shape.is_fully_defined() and tf.get_static_value(expected) is not None:
        return tensor
    check = tf.debugging.assert_equal(tf.shape(tensor), expected, f"{name} must have the same batch and list size")
    with tf.control_dependencies([check]):
        return tf.identity(tensor)


def at_most_list_size(name: str, k: Any, tensor: tf.Tensor) -> tf.Tensor:
    """`tensor` [..., n], checked for k <= n: when traced if both are known, else when run."""
    known_k, size = tf.get_static_value(k), tensor.shape[-1]
    if known_k is not None and size is not None:
        if known_k > size:
            raise ValueError(f"{name} must be at most the list size, {size}, got {known_k}")
        return tensor
    came = "" if known_k is None else f", got {known_k}"
    check = tf.debugging.assert_less_equal(k, tf.shape(tensor)[-1], f"{name} must be at most the list size{came}")
    with tf.control_dependencies([check]):
        return tf.identity(tensor)


def top_k_rows(top_k: int | None, scores: tf.Tensor) -> tf.Tensor:
    """`scores`, checked for the optional `top_k`."""
    if top_k is None:
        return scores
    return at_most_list_size("top_k", arguments.positive_integer("top_k", top_k), scores)
