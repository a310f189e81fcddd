"""Sets of targets and predictions: structures of tensors, masks, weights, and the divisor of their losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._keras.compat import IS_KERAS_3
from keras_softsort._targets.lists import WeightedLosses, not_negative
from keras_softsort._targets.queries import row_weights
from keras_softsort.ops.core.axes import flatten_lists
from keras_softsort.ops.matching.set_loss import checked_items

Mask = str | Callable[[Any], Any] | None


class Sets(NamedTuple):
    """A batch of sets of targets and of predictions, tensors or nests of tensors; with layers, layer after layer."""

    targets: Any  # [batch, m, ...]
    predictions: Any  # [batch, n, ...]
    target_mask: tf.Tensor  # [batch, m] bool, True for valid items
    prediction_mask: tf.Tensor  # [batch, n] bool, True for valid items
    weights: tf.Tensor  # [batch]
    layers: tf.Tensor | None = None  # how many layers predict each set

    def normalized(self, losses: tf.Tensor, normalization: str) -> WeightedLosses:
        """Weight `losses` [batch], sum them over layers, and find the divisor that `normalization` chooses."""
        if self.layers is not None:
            count = tf.size(losses) // self.layers
            losses = tf.reduce_sum(tf.reshape(losses, [self.layers, count]), axis=0)
            of_layer = self._replace(target_mask=self.target_mask[:count], weights=self.weights[:count], layers=None)
            return of_layer.normalized(losses, normalization)
        weights = tf.cast(self.weights, losses.dtype)
        sizes = tf.reduce_sum(tf.cast(self.target_mask, losses.dtype), axis=1)
        if normalization == "batch":
            # A batch without targets counts as one target, as in DETR, so that its predictions still have a loss.
            share = 1 / tf.maximum(tf.cast(tf.size(sizes), losses.dtype), 1)
            sizes = tf.where(tf.reduce_any(self.target_mask), sizes, share)
            return WeightedLosses(losses * weights, tf.reduce_sum(sizes), lambda: sizes * weights)
        if normalization == "set":
            losses /= tf.maximum(sizes, 1)
        return WeightedLosses(losses * weights, tf.size(losses), lambda: weights)

    def with_classes_of_each_layer(self, losses: tf.Tensor) -> tf.Tensor:
        """Multiply the `losses` [batch] by the number of layers if the batch has no targets.

        The losses of classes are divided by the weights of all layers together, and multiplied by the number of targets
        in all layers, so the number of layers cancels out. Without targets that number counts as 1 and does not grow
        with the layers.
        """
        if self.layers is None:
            return losses
        layers = tf.where(tf.reduce_any(self.target_mask), 1, self.layers)
        return losses * tf.cast(layers, losses.dtype)


def predicted_sets(
    y_true: Any,
    y_pred: Any,
    sample_weight: Any,
    *,
    target_mask: Mask,
    prediction_mask: Mask,
    dtype: tf.DType | None,
    layer_axis: int | None = None,
) -> Sets:
    """Check the call arguments of a loss of sets, and cast them to the compute dtype."""
    layers = None
    if layer_axis is not None:
        y_true, y_pred, sample_weight, layers = _of_all_layers(y_true, y_pred, sample_weight, layer_axis)
    keras_masks = [
        each._keras_mask for each in tf.nest.flatten(y_pred) if getattr(each, "_keras_mask", None) is not None
    ]
    y_true, y_pred = checked_items("y_true", y_true, "m"), checked_items("y_pred", y_pred, "n")
    leaves = tf.nest.flatten(y_pred)
    floating = [each.dtype for each in leaves if each.dtype.is_floating]
    if not floating:
        raise TypeError(f"y_pred must hold a floating-point tensor, got {[each.dtype.name for each in leaves]}")
    predictions = _cast(y_pred, lambda own: compute_dtype(dtype or own))
    targets = _cast(y_true, lambda _: compute_dtype(dtype or floating[0]))
    target_mask = _mask("target_mask", target_mask, targets)
    prediction_mask = _mask("prediction_mask", prediction_mask, predictions)
    for keras_mask in keras_masks:
        is_valid = _of_items("the Keras mask of y_pred", keras_mask, predictions)
        prediction_mask = tf.logical_and(prediction_mask, is_valid)
    weights = _weights(sample_weight, leaves[0], bool(keras_masks))
    return Sets(targets, predictions, target_mask, prediction_mask, weights, layers)


def _of_all_layers(y_true: Any, y_pred: Any, sample_weight: Any, layer_axis: int) -> tuple[Any, Any, Any, tf.Tensor]:
    """One batch of the sets of all layers: targets and weights repeated, predictions flattened; and their number."""
    given = tf.nest.flatten(y_pred)
    leaves = [arguments.dense_tensor("y_pred", each) for each in given]
    shapes = [each.shape for each in leaves]
    if not leaves or any((shape.rank or 0) < 3 or not shape[:2].is_compatible_with(shapes[0][:2]) for shape in shapes):
        axes = "layers, batch" if layer_axis == 0 else "batch, layers"
        raise ValueError(f"y_pred must hold tensors [{axes}, n, ...] with layer_axis={layer_axis}, got {shapes}")
    if any(getattr(each, "_keras_mask", None) is not None for each in given):
        raise ValueError("y_pred must have no Keras mask with layer_axis; use prediction_mask")
    if layer_axis == 1:
        leaves = [tf.transpose(each, [1, 0, *range(2, each.shape.rank)]) for each in leaves]
    leading = tf.shape(leaves[0])[:2]
    leaves = [arguments.of_shape("y_pred", each, tf.concat([leading, tf.shape(each)[2:]], axis=0)) for each in leaves]

    def repeated(each: Any) -> tf.Tensor:
        each = arguments.dense_tensor("y_true or sample_weight", each)
        return tf.tile(each, [leading[0], *[1] * (each.shape.rank - 1)]) if each.shape.rank else each

    predictions = [flatten_lists(each, each.shape.rank - 2) for each in leaves]
    weights = None if sample_weight is None else repeated(_of_one_tensor(sample_weight))
    return tf.nest.map_structure(repeated, y_true), tf.nest.pack_sequence_as(y_pred, predictions), weights, leading[0]


def _cast(structure: Any, dtype: Callable[[tf.DType], tf.DType]) -> Any:
    """Cast the floating-point tensors of a nest, and leave the others."""
    return tf.nest.map_structure(
        lambda each: tf.cast(each, dtype(each.dtype)) if each.dtype.is_floating else each, structure
    )


def _mask(name: str, mask: Mask, structure: Any) -> tf.Tensor:
    """Mark the valid items [batch, size]: those for which `mask` is True or a number of at least 0."""
    if mask is None:
        return tf.ones(tf.shape(tf.nest.flatten(structure)[0])[:2], tf.bool)
    if callable(mask):
        return _of_items(name, mask(structure), structure)
    if not isinstance(structure, Mapping) or mask not in structure:
        received = sorted(map(str, structure)) if isinstance(structure, Mapping) else type(structure).__name__
        raise ValueError(
            f"{name} must name an entry of a dictionary, got {mask!r} for {received}. In model.compile, Keras hands "
            "the loss each entry of a dictionary by itself: nest the outputs of the model, and y, under one name, "
            '{"objects": {"boxes": ..., "classes": ...}}, and compile with loss={"objects": SetLoss(...)}'
        )
    return _of_items(name, structure[mask], structure)


def _of_items(name: str, marks: Any, structure: Any) -> tf.Tensor:
    """Check that `marks` has shape `[batch, size]`, and return it as bool: negative numbers mark padding."""
    marks, items = arguments.real_tensor(name, marks), tf.nest.flatten(structure)[0]
    if marks.shape.rank == 3 and marks.shape[-1] == 1:
        marks = tf.squeeze(marks, axis=-1)
    if not marks.shape.is_compatible_with(items.shape[:2]):
        raise ValueError(f"{name} must have shape {items.shape[:2]}, got {marks.shape}")
    marks = arguments.of_shape(name, marks, tf.shape(items)[:2])
    return marks if marks.dtype.is_bool else not_negative(marks)


def _weights(sample_weight: Any, predictions: tf.Tensor, has_keras_mask: bool) -> tf.Tensor:
    """Return one weight per set [batch]."""
    weights = _of_one_tensor(sample_weight)
    if has_keras_mask and weights is not None and not IS_KERAS_3:
        # Keras 2 multiplies the weights by the Keras mask [batch, n].
        weights = arguments.real_tensor("sample_weight", weights)
        weights = tf.reduce_max(weights, axis=1) if weights.shape.rank == 2 else weights
    return row_weights(weights, predictions)


def _of_one_tensor(sample_weight: Any) -> Any:
    """The weights, which Keras repeats for each tensor of a nest. A list of numbers is no nest."""
    while isinstance(sample_weight, Mapping) and sample_weight:
        sample_weight = next(iter(sample_weight.values()))
    first = next(iter(tf.nest.flatten(sample_weight)), 0.0)
    is_number = first is not None and tf.TensorShape(getattr(first, "shape", ())).rank == 0
    return sample_weight if is_number else first
