"""Classes of embeddings, as numbers or as rows, and whether they agree."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype


def class_rows(name: str, labels: Any, embeddings: tf.Tensor) -> tf.Tensor:
    """Check `labels`, and return them as [batch] of any number type, or as [batch, classes] in the compute dtype."""
    labels = arguments.dense_tensor(name, labels)
    if not (labels.dtype.is_integer or labels.dtype.is_floating):
        raise TypeError(f"{name} must hold numbers, got dtype {labels.dtype.name}")
    rows = labels[:, tf.newaxis] if labels.shape.rank == 1 else labels
    is_table = rows.shape.rank == 2 and rows.shape[1] not in (None, 0)
    if not (is_table and rows.shape[:1].is_compatible_with(embeddings.shape[:1])):
        raise ValueError(
            f"{name} must have shape [batch], [batch, 1] or [batch, classes] (known), with batch "
            f"{embeddings.shape[0]} as in the embeddings, got {labels.shape}"
        )
    rows = arguments.of_shape(name, rows, tf.stack([tf.shape(embeddings)[0], rows.shape[1]]))
    return rows[:, 0] if rows.shape[1] == 1 else tf.cast(rows, compute_dtype(embeddings.dtype))


def agreement(queries: tf.Tensor, candidates: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """[q, c]: 1 for equal classes, or the inner product of rows of classes; NaN for a NaN label."""
    if queries.shape.rank == 2:
        return tf.cast(tf.matmul(queries, candidates, transpose_b=True), dtype)
    queries, candidates = queries[:, tf.newaxis], candidates[tf.newaxis]
    equal = tf.cast(tf.equal(queries, candidates), dtype)
    if queries.dtype.is_integer:
        return equal
    return tf.where(tf.math.is_nan(queries + candidates), tf.constant(math.nan, dtype), equal)
