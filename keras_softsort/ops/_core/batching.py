"""Leading axes flattened to one batch axis, and gathers along the lists of a batch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

# TensorFlow 2.15 gives the gradient of `tf.gather` another shape if the batch is empty.
LOSES_SHAPE_OF_NO_LISTS = tuple(map(int, tf.__version__.split(".")[:2])) < (2, 16)


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
        results.append(tf.ensure_shape(result, known))
    return results


def _split(tensor: tf.Tensor, inner: int) -> Any:
    """The number of leading axes, a Python int if it is known."""
    rank = tensor.shape.rank
    return (tf.rank(tensor) if rank is None else rank) - inner


def take(values: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    """Gather along the lists of a batch: `values[b, indices[b, r]]`."""
    if LOSES_SHAPE_OF_NO_LISTS:
        values = tf.reshape(values, tf.shape(values))  # whose gradient has this shape again
    return tf.gather(values, indices, batch_dims=1)


def repeat_samples(tensor: tf.Tensor, num_samples: int) -> tf.Tensor:
    """Repeat `tensor` `num_samples` times along a new second axis."""
    return tf.repeat(tensor[:, tf.newaxis], num_samples, axis=1)


def temperature_per_example(tau: tf.Tensor, lists: tf.Tensor) -> tf.Tensor:
    """Return `tau`, a scalar or one number per example `[batch]`, to broadcast against the leading axes of `lists`."""
    return tau if tau.shape.rank == 0 else tf.reshape(tau, [-1] + [1] * (lists.shape.rank - 2))


def temperature_per_list(tau: tf.Tensor, tensor: tf.Tensor, inner: int = 1) -> tf.Tensor:
    """`tau` of `validation.temperature` for flattened lists: a scalar, or [B, 1, ...] with `inner` axes of size 1."""
    if tau.shape.rank == 0:
        return tau
    leading = tf.shape(tensor)[: tensor.shape.rank - inner]
    every = tf.reshape(tf.broadcast_to(tau, leading), [-1])
    return tf.reshape(every, tf.concat([tf.shape(every), [1] * inner], axis=0))
