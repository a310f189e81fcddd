"""Embeddings: their classes, and checks of shapes."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.not_a_number import or_nan


def check_embedding_shapes(queries: Any, candidates: Any, k: int) -> None:
    """Check shapes as far as they are known: `[..., q, d]` and `[..., c, d]` with k below c."""
    queries, candidates = tf.TensorShape(queries), tf.TensorShape(candidates)
    ranks_fit = queries.rank == candidates.rank and queries.rank >= 2
    if not (
        ranks_fit
        and queries[:-2].is_compatible_with(candidates[:-2])
        and queries[-1:].is_compatible_with(candidates[-1:])
    ):
        raise ValueError(
            f"queries and candidates must have shapes [..., q, d] and [..., c, d], got {queries} and {candidates}"
        )
    if candidates[-2] is not None and candidates[-2] <= k:
        raise ValueError(f"k must be below the number of candidates, {candidates[-2]}, got {k}")


def checked_candidates(queries: tf.Tensor, candidates: tf.Tensor, k: int) -> tf.Tensor:
    """Check that `candidates` match `queries` and are more than k, when traced if sizes are known, else when run."""
    check_embedding_shapes(queries.shape, candidates.shape, k)
    size = number_of_rows(candidates)
    return arguments.checked(candidates, size > k, f"k must be below the number of candidates, got {k} for", size)


def number_of_rows(embeddings: tf.Tensor) -> Any:
    """Return the number of `embeddings` [..., size, d], a Python int if it is known when traced."""
    size = embeddings.shape[-2]
    return tf.shape(embeddings)[-2] if size is None else size


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
    return or_nan(equal, tf.math.is_nan(queries + candidates))


def bilinear(first: tf.Tensor, second: tf.Tensor, weights: Any, linear: tuple[Any, Any], bias: Any) -> tf.Tensor:
    """Compute `y_k = sum_ij u_i W_ijk v_j + sum_i u_i A_ik + sum_j v_j B_jk + c_k` of vectors u and v, `[..., d]`."""
    both = tf.einsum("...i,ijk,...j->...k", first, weights, second)
    return both + tf.matmul(first, linear[0]) + tf.matmul(second, linear[1]) + bias
