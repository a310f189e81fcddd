"""Sizes and axes of lists in a batch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments


def list_size(values: tf.Tensor) -> Any:
    """The list size n of `values` [B, n, ...], a Python int if it is known."""
    return values.shape[1] or tf.shape(values)[1]


def is_at_most(size: int | None, maximum: int) -> bool | None:
    """Whether `size` is at most `maximum`; None if `size` is None, that is, unknown when traced."""
    return None if size is None else size <= maximum


def ceil_division(number: Any, divisor: Any) -> Any:
    """The quotient rounded up, of Python or tensor integers of at least 0 and 1."""
    return (number + divisor - 1) // divisor  # onnxruntime rounds the quotient of a negative number towards 0


def flatten_lists(tensor: tf.Tensor, inner: int = 1) -> tf.Tensor:
    """Flatten all axes but the last `inner` to one. The rank may be unknown, and a list may be empty."""
    if tensor.shape.rank == inner + 1:
        return tensor
    shape, leading = tf.shape(tensor), leading_axes(tensor, inner)
    static = leading.num_elements()
    batch = tf.reduce_prod(shape[: _split(tensor, inner)]) if static is None else static
    # Not `shape[split:]`, whose length is unknown if the rank is, and not a reshape to -1, which fails if n is 0.
    return tf.reshape(tensor, [batch, *(shape[axis] for axis in range(-inner, 0))])


def leading_axes(tensor: tf.Tensor, inner: int = 1) -> tf.TensorShape:
    """The static shape of `tensor` without the last `inner` axes."""
    rank = tensor.shape.rank
    return tf.TensorShape(None) if rank is None else tensor.shape[: rank - inner]


def moved_axis(tensor: tf.Tensor, axis: int, to: int) -> tf.Tensor:
    """Move an axis of `tensor`; both numbers count from 0. No operation if it is there."""
    axes = list(range(tensor.shape.rank))
    axes.insert(to, axes.pop(axis))
    return tensor if axis == to else tf.transpose(tensor, axes)


def broadcast_leading(tensors: Sequence[tf.Tensor], inner: Sequence[int]) -> list[tf.Tensor]:
    """Broadcast the leading axes of `tensors` against each other; the last `inner` axes of each stay unchanged."""
    pairs = list(zip(tensors, inner, strict=True))
    if len({str(leading_axes(*pair)) for pair in pairs}) == 1 and leading_axes(*pairs[0]).is_fully_defined():
        return list(tensors)
    static = functools.reduce(tf.broadcast_static_shape, [leading_axes(*pair) for pair in pairs])
    shapes = [(tf.shape(tensor), _split(tensor, own)) for tensor, own in pairs]
    leading = functools.reduce(tf.broadcast_dynamic_shape, [shape[:split] for shape, split in shapes])
    results = []
    for (tensor, own), (shape, split) in zip(pairs, shapes, strict=True):
        result = tf.broadcast_to(tensor, tf.concat([leading, shape[split:]], axis=0))
        rank = tensor.shape.rank
        known = tf.TensorShape(None) if rank is None else static.concatenate(tensor.shape[rank - own :])
        results.append(with_static_shape(result, known))
    return results


def with_static_shape(tensor: tf.Tensor, shape: Any) -> tf.Tensor:
    """Return `tensor` with the known sizes of `shape`, which it must have, as its static shape.

    Unlike `tf.ensure_shape` it adds no operation, which forward mode and LiteRT would refuse, and checks nothing.
    """
    tensor.set_shape(shape)
    return tensor


def _split(tensor: tf.Tensor, inner: int) -> Any:
    """The number of leading axes, a Python int if it is known."""
    rank = tensor.shape.rank
    return (tf.rank(tensor) if rank is None else rank) - inner


def repeat_samples(tensor: tf.Tensor, num_samples: int | None) -> tf.Tensor:
    """Repeat `tensor` `num_samples` times along a new second axis; None adds no axis."""
    return tensor if num_samples is None else tf.repeat(tensor[:, tf.newaxis], num_samples, axis=1)


def of_all_entries(name: str, mask: Any, tensor: tf.Tensor) -> tf.Tensor | None:
    """Check a mask of the leading axes of `tensor`, and broadcast it to all its entries."""
    if mask is None:
        return None
    mask = arguments.bool_mask(name, mask)
    rank = mask.shape.rank
    if not rank or not mask.shape.is_compatible_with(tensor.shape[:rank]):
        raise ValueError(f"{name} must have the leading axes of the input, {tensor.shape}, got {mask.shape}")
    mask = arguments.of_shape(name, mask, tf.shape(tensor)[:rank])
    missing = [1] * (tensor.shape.rank - rank)
    return tf.broadcast_to(tf.reshape(mask, [*tf.unstack(tf.shape(mask)), *missing]), tf.shape(tensor))
