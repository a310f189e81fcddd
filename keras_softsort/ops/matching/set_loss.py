"""Losses of predicted sets: match targets to predictions, then sum the losses of matched and unmatched predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops._core.gradients import nan_lists
from keras_softsort.ops._core.lists import take
from keras_softsort.ops.matching.linear_assignment import MatchResult, matched_pairs

Structure = Any  # a tensor or a nest of tensors [batch, items, ...]


def set_losses(
    targets: Structure,
    predictions: Structure,
    *,
    target_mask: tf.Tensor,
    prediction_mask: tf.Tensor,
    pair_cost: Callable[[Structure, Structure], Any],
    matched_loss: Callable[[Structure, Structure], Any],
    unmatched_loss: Callable[[Structure], Any] | None,
) -> tf.Tensor:
    """The loss of each set [batch]: the sum over its pairs and its unmatched predictions; NaN without a matching."""
    sizes = _Sizes(targets, predictions)
    fixed = tf.nest.map_structure(tf.stop_gradient, predictions)
    cost = sizes.checked("pair_cost", pair_cost(targets, fixed), "mn")
    matching = matched_pairs(cost, target_mask, prediction_mask)
    chosen = tf.nest.map_structure(lambda each: take(each, matching.columns), predictions)
    chosen = _with_gradient_where(matching.row_matched, chosen)
    losses = sizes.checked("matched_loss", matched_loss(targets, chosen), "m")
    result = _masked_sum(losses, matching.row_matched)
    if unmatched_loss is not None:
        unmatched = tf.logical_and(prediction_mask, tf.logical_not(matching.column_matched))
        others = sizes.checked("unmatched_loss", unmatched_loss(_with_gradient_where(unmatched, predictions)), "n")
        result += tf.cast(_masked_sum(others, unmatched), result.dtype)
    failed = _failed(matching, target_mask, prediction_mask)
    for each in tf.nest.flatten(predictions):
        if each.dtype.is_floating:
            result = nan_lists(failed, result, each)
    return result


def _with_gradient_where(mask: tf.Tensor, structure: Structure) -> Structure:
    """Return the same values, with gradient 0 where `mask` [batch, items] is False, even if the upstream one is NaN."""

    def select(each: tf.Tensor) -> tf.Tensor:
        return tf.where(over_items(mask, each), each, tf.stop_gradient(each))

    return tf.nest.map_structure(select, structure)


def over_items(mask: tf.Tensor, each: tf.Tensor) -> tf.Tensor:
    """`mask` [batch, items] with as many axes as `each` [batch, items, ...]."""
    ones = tf.ones([each.shape.rank - 2], tf.int32)
    return tf.reshape(mask, tf.concat([tf.shape(mask), ones], axis=0))


def _masked_sum(losses: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.where(mask, losses, tf.zeros_like(losses)), axis=1)


def _failed(matching: MatchResult, target_mask: tf.Tensor, prediction_mask: tf.Tensor) -> tf.Tensor:
    """Whether a set has fewer pairs than its valid items allow: [batch]."""
    pairs, rows, columns = (
        tf.math.count_nonzero(mask, axis=1) for mask in (matching.row_matched, target_mask, prediction_mask)
    )
    return pairs < tf.minimum(rows, columns)


class _Sizes(NamedTuple):
    """The shapes that functions of targets and predictions return."""

    targets: Structure
    predictions: Structure

    def checked(self, name: str, value: Any, axes: str) -> tf.Tensor:
        """Check that `value`, the result of the function `name`, has shape `[batch, *axes]`."""
        tensor = arguments.floating_tensor(f"the result of {name}", value)
        target, prediction = tf.nest.flatten(self.targets)[0], tf.nest.flatten(self.predictions)[0]
        known = {"b": prediction.shape[0], "m": target.shape[1], "n": prediction.shape[1]}
        expected = tf.TensorShape([known[axis] for axis in "b" + axes])
        if not tensor.shape.is_compatible_with(expected):
            described = ", ".join(["batch", *axes])
            raise ValueError(f"{name} must return shape [{described}], which is {expected} here, got {tensor.shape}")
        sizes = {"b": tf.shape(prediction)[0], "m": tf.shape(target)[1], "n": tf.shape(prediction)[1]}
        return arguments.of_shape(f"the result of {name}", tensor, tf.stack([sizes[axis] for axis in "b" + axes]))
