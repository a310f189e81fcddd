"""Masks made of other masks: of ranks, of columns, of all entries."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort.ops._core import validation


def leading_ranks(mask: tf.Tensor, count: int | None = None) -> tf.Tensor:
    """Mark as many leading ranks as `mask` `[batch, n]` has valid items, of all ranks or of the first `count`."""
    valid = tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1)
    return tf.sequence_mask(valid, tf.shape(mask)[-1])[:, :count]


def leading_columns(logits: tf.Tensor, row_mask: tf.Tensor) -> tf.Tensor:
    """Mark as many leading columns as there are valid rows in a square matrix, and all columns otherwise."""
    rows, columns = tf.unstack(tf.shape(logits)[1:])
    valid = tf.reduce_sum(tf.cast(row_mask, tf.int32), axis=-1)
    return tf.sequence_mask(tf.where(tf.equal(rows, columns), valid, columns), columns)


def of_all_entries(name: str, mask: Any, tensor: tf.Tensor) -> tf.Tensor | None:
    """Check a mask of the leading axes of `tensor`, and broadcast it to all its entries."""
    if mask is None:
        return None
    mask = validation.bool_mask(name, mask)
    rank = mask.shape.rank
    if not rank or not mask.shape.is_compatible_with(tensor.shape[:rank]):
        raise ValueError(f"{name} must have the leading axes of logits, {tensor.shape}, got {mask.shape}")
    mask = validation.of_shape(name, mask, tf.shape(tensor)[:rank])
    missing = [1] * (tensor.shape.rank - rank)
    return tf.broadcast_to(tf.reshape(mask, [*tf.unstack(tf.shape(mask)), *missing]), tf.shape(tensor))
