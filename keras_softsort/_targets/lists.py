"""What is padding and what it weighs: the one place where losses and metrics resolve labels, masks and weights."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops._core import validation
from keras_softsort.ops._core.dtypes import compute_dtype


class Lists(NamedTuple):
    """Labels `[B, n]` in the compute dtype, with everything that says how much each item counts."""

    labels: tf.Tensor  # [B, n]; NaN throughout a list that holds one
    mask: tf.Tensor  # [B, n] bool, True = keep
    weights: tf.Tensor  # [B, n]; 0 where masked

    def mean_over_items(self, values: tf.Tensor) -> tf.Tensor:
        """Weighted mean of `values` [B, n] over each list's own items: [B]; 0 for an empty list."""
        kept = tf.where(self.mask, values, tf.zeros_like(values))
        return tf.reduce_sum(kept * self.weights, axis=-1) / self.sizes()

    def sizes(self) -> tf.Tensor:
        """Number of kept items [B], at least 1."""
        return tf.maximum(tf.reduce_sum(tf.cast(self.mask, self.labels.dtype), axis=-1), 1)


def predicted_lists(y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[Lists, tf.Tensor]:
    """The lists that `y_pred` predicts, and it in the dtype to compute in; ragged scores [B, (n)] are padded."""
    mask = getattr(y_pred, "_keras_mask", None)
    if isinstance(y_pred, tf.RaggedTensor):
        if y_pred.shape.rank != 2:
            raise TypeError(f"y_pred must be dense, or ragged scores [batch, n], got ragged shape {y_pred.shape}")
        lengths = y_pred.row_lengths()
        y_true = _of_lengths("y_true", y_true, lengths)
        sample_weight = _of_lengths("sample_weight", sample_weight, lengths)
        mask = tf.sequence_mask(lengths)
        y_pred = y_pred.to_tensor()
    y_pred = validation.floating_tensor("y_pred", y_pred)
    y_pred = tf.cast(y_pred, compute_dtype(y_pred.dtype))
    return resolve_lists(y_true, y_pred, sample_weight, mask), y_pred


def _of_lengths(name: str, value: Any, lengths: tf.Tensor) -> Any:
    """`value`, checked to have lists of these lengths if it is ragged."""
    if not isinstance(value, tf.RaggedTensor):
        return value
    found, lengths = tf.cast(value.row_lengths(), tf.int64), tf.cast(lengths, tf.int64)
    same = tf.reduce_all(tf.equal(found, lengths))
    values = validation.checked(value.flat_values, same, f"{name} must have lists of the lengths of those of y_pred")
    return value.with_flat_values(values)


def resolve_lists(y_true: Any, y_pred: tf.Tensor, sample_weight: Any, keras_mask: Any) -> Lists:
    """Labels, mask and weights of the lists of which `y_pred` [B, ..., n] is a prediction.

    An item is padding where its label is below 0 or where the Keras mask says so. `sample_weight` is a number, `[B]`
    or `[B, 1]` (a weight a list) or `[B, n]` (a weight an item). Ragged labels and weights are padded.
    """
    dtype, size = y_pred.dtype, tf.shape(y_pred)[-1]
    labels = tf.cast(_dense("y_true", y_true, -1, size), dtype)
    expected = tf.TensorShape([y_pred.shape[0], y_pred.shape[-1]])
    if not labels.shape.is_compatible_with(expected):
        raise ValueError(f"y_true must have shape [batch, n], {expected} with this y_pred, got {labels.shape}")
    labels = validation.of_shape("y_true", labels, tf.stack([tf.shape(y_pred)[0], size]))
    mask = tf.logical_not(labels < 0)
    if keras_mask is not None:
        if not keras_mask.shape.is_compatible_with(labels.shape):
            raise ValueError(
                f"the Keras mask of y_pred must have the shape of y_true, {labels.shape}, got {keras_mask.shape}"
            )
        mask = tf.logical_and(mask, tf.cast(keras_mask, tf.bool))
    has_nan = tf.reduce_any(tf.logical_and(mask, tf.math.is_nan(labels)), axis=-1, keepdims=True)
    labels = tf.where(has_nan, tf.constant(math.nan, dtype), labels)
    return Lists(labels, mask, _item_weights(sample_weight, mask, size, dtype))


def _item_weights(sample_weight: Any, mask: tf.Tensor, size: Any, dtype: tf.DType) -> tf.Tensor:
    kept = tf.cast(mask, dtype)
    if sample_weight is None:
        return kept
    weights = tf.cast(_dense("sample_weight", sample_weight, 0, size), dtype)
    if weights.shape.rank == 1:
        weights = weights[:, tf.newaxis]
    fits = weights.shape.rank == 0 or (
        weights.shape.rank == 2
        and mask.shape[:1].is_compatible_with(weights.shape[:1])
        and weights.shape[1] in (None, 1, mask.shape[1] or weights.shape[1])
    )
    if not fits:
        raise ValueError(f"sample_weight must have shape [batch], [batch, 1] or [batch, n], got {weights.shape}")
    # Fails for another batch size where a product would broadcast the mask.
    return tf.where(mask, tf.broadcast_to(weights, tf.shape(mask)), tf.zeros_like(kept))


def _dense(name: str, value: Any, fill: float, size: Any) -> tf.Tensor:
    if not isinstance(value, tf.RaggedTensor):
        return validation.real_tensor(name, value)
    longest = tf.cast(value.bounding_shape(axis=1), size.dtype)
    # Without the check, what does not fit would be cut off.
    size = validation.checked(size, longest <= size, f"{name} must have no list longer than those of y_pred")
    return value.to_tensor(default_value=tf.cast(fill, value.dtype), shape=tf.stack([-1, size]))
