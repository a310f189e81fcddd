"""Leading axes as one batch axis, and gathers along the lists of a batch."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import tensorflow as tf


def flatten_lists(tensor: tf.Tensor, inner: int = 1) -> tf.Tensor:
    """All axes but the last `inner` made one. An empty list is kept, which a reshape to -1 could not."""
    shape = tf.shape(tensor)
    split = tensor.shape.rank - inner
    static = tensor.shape[:split].num_elements()
    batch = tf.reduce_prod(shape[:split]) if static is None else static
    return tf.reshape(tensor, tf.concat([[batch], shape[split:]], axis=0))


def broadcast_leading(tensors: Sequence[tf.Tensor], inner: Sequence[int]) -> list[tf.Tensor]:
    """`tensors` with the broadcast of all their leading axes; the last `inner` axes of each stay as they are."""
    splits = [
        (tf.rank(tensor) if tensor.shape.rank is None else tensor.shape.rank) - own
        for tensor, own in zip(tensors, inner, strict=True)
    ]
    pairs = list(zip(tensors, splits, strict=True))
    known = [tensor.shape if tf.is_tensor(split) else tensor.shape[:split] for tensor, split in pairs]
    static = functools.reduce(tf.broadcast_static_shape, known)
    leading = functools.reduce(tf.broadcast_dynamic_shape, [tf.shape(tensor)[:split] for tensor, split in pairs])
    results = []
    for (tensor, split), own in zip(pairs, inner, strict=True):
        result = tf.broadcast_to(tensor, tf.concat([leading, tf.shape(tensor)[split:]], axis=0))
        rank = tensor.shape.rank
        results.append(
            tf.ensure_shape(result, None if rank is None else static.concatenate(tensor.shape[rank - own :]))
        )
    return results


def take(values: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    """`values[b, indices[b, r]]`."""
    return tf.gather(values, indices, batch_dims=1)


def temperature_per_list(tau: tf.Tensor, tensor: tf.Tensor, inner: int = 1) -> tf.Tensor:
    """`tau`, as `validation.temperature` returns it, for flattened lists: a scalar, or [B, 1] with `inner` ones."""
    if tau.shape.rank == 0:
        return tau
    leading = tf.shape(tensor)[: tensor.shape.rank - inner]
    every = tf.reshape(tf.broadcast_to(tau, leading), [-1])
    return tf.reshape(every, tf.concat([tf.shape(every), [1] * inner], axis=0))
