"""Classes, padding and weights of embeddings, for losses of nearest neighbors."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._targets.lists import WeightedLosses, not_negative
from keras_softsort.ops.neighbors.embeddings import class_rows


class LabelledEmbeddings(NamedTuple):
    """A batch of embeddings with their classes, mask and weights."""

    embeddings: tf.Tensor  # [batch, d] in the compute dtype
    labels: tf.Tensor  # [batch] or [batch, classes]
    mask: tf.Tensor  # [batch] bool, True for valid items
    weights: tf.Tensor  # [batch]; 0 where masked

    def weighted(self, losses: tf.Tensor, num_queries: int | None = None) -> WeightedLosses:
        """Weight the losses of the queries, the first `num_queries` items or all. A mean counts the valid ones."""
        weights = self.weights[:num_queries]
        return WeightedLosses(losses * weights, tf.math.count_nonzero(self.mask[:num_queries]), lambda: weights)


def labelled_embeddings(
    y_true: Any, y_pred: Any, sample_weight: Any, dtype: tf.DType | None = None
) -> LabelledEmbeddings:
    """Check and resolve the call arguments of a loss of embeddings. Items with a label below 0 are padding."""
    embeddings = arguments.floating_tensor("y_pred", y_pred)
    if embeddings.shape.rank != 2:
        raise ValueError(f"y_pred must be embeddings [batch, d], got shape {embeddings.shape}")
    embeddings = tf.cast(embeddings, compute_dtype(dtype or embeddings.dtype))
    labels = class_rows("y_true", y_true, embeddings)
    mask = not_negative(labels)
    mask = tf.reduce_all(mask, axis=-1) if labels.shape.rank == 2 else mask
    weights = tf.cast(row_weights(sample_weight, embeddings), embeddings.dtype)
    return LabelledEmbeddings(embeddings, labels, mask, tf.where(mask, weights, tf.zeros_like(weights)))


def queries_and_candidates(
    y_true: Any, y_pred: Any, sample_weight: Any, dtype: tf.DType | None = None
) -> tuple[LabelledEmbeddings, Any]:
    """Check and resolve embeddings [batch, d], or those of two towers stacked as [batch, 2, d].

    Without towers the candidates are None. Two towers share labels [batch], or have one each in [batch, 2].
    """
    both = arguments.floating_tensor("y_pred", y_pred)
    if both.shape.rank == 2:
        return labelled_embeddings(y_true, both, sample_weight, dtype), None
    if both.shape.rank != 3 or both.shape[1] != 2:
        raise ValueError(f"y_pred must be embeddings [batch, d], or [batch, 2, d] of two towers, got {both.shape}")
    labels = arguments.real_tensor("y_true", y_true)
    # Keras 2 gives labels as many axes as predictions.
    flat = tf.squeeze(labels, axis=-1) if labels.shape.rank in (2, 3) and labels.shape[-1] == 1 else labels
    if not (flat.shape.rank == 1 or (flat.shape.rank == 2 and flat.shape[1] == 2)):
        raise ValueError(f"y_true must have shape [batch] or [batch, 2] with two towers, got {labels.shape}")
    columns = [flat, flat] if flat.shape.rank == 1 else tf.unstack(flat, axis=1)
    queries = labelled_embeddings(columns[0], both[:, 0], sample_weight, dtype)
    return queries, labelled_embeddings(columns[1], both[:, 1], None, dtype)


def row_weights(sample_weight: Any, rows: tf.Tensor) -> tf.Tensor:
    """Convert weights (a number, [batch] or [batch, 1]) to one weight [batch] for each of `rows` [batch, ...]."""
    weights = arguments.real_tensor("sample_weight", 1.0 if sample_weight is None else sample_weight)
    shape = weights.shape
    if shape.rank is None or (shape.rank == 2 and shape[1] == 1):
        weights = tf.reshape(weights, [-1])
    if weights.shape.rank == 0:
        return tf.broadcast_to(weights, tf.shape(rows)[:1])
    if not weights.shape.is_compatible_with(rows.shape[:1]):
        raise ValueError(f"sample_weight must have shape [batch] or [batch, 1], got {shape}")
    return arguments.of_shape("sample_weight", weights, tf.shape(rows)[:1])
