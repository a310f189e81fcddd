"""Classes, padding and weights of embeddings, for losses of nearest neighbors."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._targets.lists import WeightedLosses, minus_gains
from keras_softsort.ops.neighbors._classes import class_rows


class LabelledEmbeddings(NamedTuple):
    """A batch of embeddings with their classes, mask and weights."""

    embeddings: tf.Tensor  # [batch, d] in the compute dtype
    labels: tf.Tensor  # [batch] or [batch, classes]
    mask: tf.Tensor  # [batch] bool, True for valid items
    weights: tf.Tensor  # [batch]; 0 where masked

    def losses_of_shares(self, shares: tf.Tensor, num_queries: int | None) -> WeightedLosses:
        """Minus the weighted shares of the queries: the first `num_queries` items, or all."""
        return minus_gains(shares, self.weights[:num_queries], self.mask[:num_queries])


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
    return LabelledEmbeddings(embeddings, labels, mask, _weights(sample_weight, embeddings, mask))


class JudgedQueries(NamedTuple):
    """Queries and their candidates with labels; without `candidates` the queries are each other's candidates."""

    queries: tf.Tensor  # [batch, d] in the dtype to compute in
    candidates: tf.Tensor | None  # [batch, d]
    labels: tf.Tensor  # [batch], or without candidates [batch, classes]
    candidate_labels: tf.Tensor
    mask: tf.Tensor  # [batch] bool, True for valid items
    candidate_mask: tf.Tensor
    weights: tf.Tensor  # [batch]; 0 where masked


def judged_queries(y_true: Any, y_pred: Any, sample_weight: Any, dtype: tf.DType | None = None) -> JudgedQueries:
    """Check and resolve embeddings [batch, d], or those of two towers stacked as [batch, 2, d].

    Two towers share labels [batch], or have one each in [batch, 2].
    """
    both = arguments.floating_tensor("y_pred", y_pred)
    if both.shape.rank == 2:
        batch = labelled_embeddings(y_true, both, sample_weight, dtype)
        return JudgedQueries(batch.embeddings, None, batch.labels, batch.labels, batch.mask, batch.mask, batch.weights)
    if both.shape.rank != 3 or both.shape[1] != 2:
        raise ValueError(f"y_pred must be embeddings [batch, d], or [batch, 2, d] of two towers, got {both.shape}")
    labels = arguments.real_tensor("y_true", y_true)
    # Keras 2 gives labels as many axes as predictions.
    flat = tf.squeeze(labels, axis=-1) if labels.shape.rank in (2, 3) and labels.shape[-1] == 1 else labels
    if not (flat.shape.rank == 1 or (flat.shape.rank == 2 and flat.shape[1] == 2)):
        raise ValueError(f"y_true must have shape [batch] or [batch, 2] with two towers, got {labels.shape}")
    columns = [flat, flat] if flat.shape.rank == 1 else tf.unstack(flat, axis=1)
    queries, candidates = (
        labelled_embeddings(own, each, None, dtype) for own, each in zip(columns, tf.unstack(both, axis=1), strict=True)
    )
    weights = _weights(sample_weight, queries.embeddings, queries.mask)
    return JudgedQueries(
        queries.embeddings,
        candidates.embeddings,
        queries.labels,
        candidates.labels,
        queries.mask,
        candidates.mask,
        weights,
    )


def not_negative(labels: tf.Tensor) -> tf.Tensor:
    """Whether labels are at least 0 or NaN."""
    # Not logical_not(labels < 0): TensorFlow's graph optimizer rewrites it as labels >= 0, which is False for NaN.
    if labels.dtype.is_integer:
        return labels >= 0
    return tf.logical_or(labels >= 0, tf.math.is_nan(labels))


def _weights(sample_weight: Any, embeddings: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """One weight per item [batch], 0 where masked."""
    weights = arguments.real_tensor("sample_weight", 1.0 if sample_weight is None else sample_weight)
    weights, shape = tf.cast(weights, embeddings.dtype), weights.shape
    if shape.rank == 2 and shape[1] == 1:
        weights = weights[:, 0]
    is_number = weights.shape.rank == 0
    if not is_number and not (weights.shape.rank == 1 and weights.shape.is_compatible_with(embeddings.shape[:1])):
        raise ValueError(f"sample_weight must have shape [batch] or [batch, 1], got {shape}")
    if not is_number:
        weights = arguments.of_shape("sample_weight", weights, tf.shape(embeddings)[:1])
    return tf.where(mask, weights, tf.zeros([], embeddings.dtype))
