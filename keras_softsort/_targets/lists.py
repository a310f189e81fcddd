"""Lists of items for losses and metrics: which items are valid, their weights, and the reduction of losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.advice import warn_once
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.not_a_number import at_least_or_nan, or_nan
from keras_softsort._keras.compat import IS_KERAS_3
from keras_softsort._targets.layout import ListInputs, list_inputs
from keras_softsort.ops.core.segments import by_segment

PADDINGS = ("nan_labels", "negative_labels")


class Lists(NamedTuple):
    """Labels `[B, n]` in the compute dtype, with the mask and the weights of the items."""

    labels: tf.Tensor  # [B, n]; any number where masked
    mask: tf.Tensor | None = None  # [B, n] bool, True for valid items; None if all are valid
    weights: tf.Tensor | None = None  # [B, n], 0 where masked; None if all valid items have the weight 1
    groups: tf.Tensor | None = None  # [n]: the id of the list of each item, if one row holds all lists

    def valid(self) -> tf.Tensor:
        """The mask, also if all items are valid."""
        return tf.ones_like(self.labels, tf.bool) if self.mask is None else self.mask

    def item_weights(self) -> tf.Tensor:
        """The weights, also if all valid items have the weight 1."""
        return tf.cast(self.valid(), self.labels.dtype) if self.weights is None else self.weights

    def only_valid(self, values: tf.Tensor) -> tf.Tensor:
        """The `values` [B, n] with 0 where masked."""
        return values if self.mask is None else tf.where(self.mask, values, tf.zeros([], values.dtype))

    def sizes(self) -> tf.Tensor:
        """Number of valid items of each list [B], at least 1."""
        return tf.maximum(tf.reduce_sum(tf.cast(self.valid(), self.labels.dtype), axis=-1), 1)

    def mean_weights(self) -> tf.Tensor:
        """Mean weight of the valid items of each list: [B]; 0 for an empty list."""
        if self.weights is None:
            return tf.cast(tf.reduce_any(self.valid(), axis=-1), self.labels.dtype)
        return tf.reduce_sum(self.weights, axis=-1) / self.sizes()

    def mean_over_items(self, values: tf.Tensor) -> tf.Tensor:
        """Weighted mean of `values` [B, n] over the valid items of each list: [B]; 0 for an empty list."""
        return tf.reduce_sum(self.only_valid(values) * self.item_weights(), axis=-1) / self.sizes()

    def complete(self) -> Lists:
        """These lists with a mask, weights, and labels that are 0 where masked, or all NaN in a list with a NaN."""
        labels = self.only_valid(self.labels)
        has_nan = tf.reduce_any(tf.math.is_nan(labels), axis=-1, keepdims=True)
        return self._replace(labels=or_nan(labels, has_nan), mask=self.valid(), weights=self.item_weights())

    def failed(self, scores: tf.Tensor) -> tf.Tensor:
        """Whether each complete list holds a NaN label or a NaN among `scores` [B, n], which are 0 where masked."""
        return tf.reduce_any(tf.logical_or(tf.math.is_nan(self.labels), tf.math.is_nan(scores)), axis=-1)


def checked_padding(padding: str | None) -> str | None:
    """Check that `padding` is one of `PADDINGS` or None."""
    if padding is not None and padding not in PADDINGS:
        raise ValueError(f"padding must be one of {[*PADDINGS]} or None, got {padding!r}")
    return padding


def predicted_lists(
    y_true: Any,
    y_pred: Any,
    sample_weight: Any,
    *,
    lists: str = "rows",
    padding: str | None = "negative_labels",
    predicts: str = "scores or matrices",
    dtype: tf.DType | None = None,
) -> tuple[Lists, tf.Tensor]:
    """Resolve the call arguments of a loss or metric: the lists, and `y_pred` with one list per row.

    Shapes, `lists` and `padding` are as in `ListLoss`. `predicts` is the kinds of `y_pred` that are allowed, one of
    `layout.PREDICTS`. The compute `dtype` None takes that of `y_pred`, and float32 for half precision.
    """
    inputs = list_inputs(y_true, y_pred, sample_weight, lists=lists, predicts=predicts)
    y_pred = tf.cast(inputs.y_pred, compute_dtype(dtype or inputs.y_pred.dtype))
    items = y_pred[..., 0] if predicts == "logits" else y_pred
    return _resolved(inputs, items, padding), y_pred


def for_each_list(function: Callable[..., Any], lists: Lists, *parts: tf.Tensor) -> Any:
    """Call `function(lists, *parts)` with one list per row. It returns a result [lists], or a nest of such results.

    With group ids the results are [n]: each stands at the first item of its list, and 0 at all other items.
    """
    if lists.groups is None:
        return function(lists, *parts)

    def of_padded_lists(labels: tf.Tensor, mask: tf.Tensor, *parts: tf.Tensor) -> Any:
        weights, others = (None, parts) if lists.weights is None else (parts[0], parts[1:])
        return function(Lists(labels, mask, weights), *others)

    weights = [] if lists.weights is None else [lists.weights]
    return by_segment(
        of_padded_lists, lists.groups, [part[0] for part in (lists.labels, lists.valid(), *weights, *parts)]
    )


def _resolved(inputs: ListInputs, y_pred: tf.Tensor, padding: str | None) -> Lists:
    """Labels, mask and weights of the lists that `y_pred` [B, ..., n] predicts, dense.

    An item is padding if its label marks it, as `padding` says, or if the Keras mask does.
    """
    dtype = y_pred.dtype
    labels, mask = _labels_and_mask(inputs.y_true, y_pred, padding)
    expected = tf.TensorShape([y_pred.shape[0], y_pred.shape[-1]])
    if not labels.shape.is_compatible_with(expected):
        raise ValueError(f"y_true must have shape [batch, n], {expected} with this y_pred, got {labels.shape}")
    if not (expected.is_fully_defined() and labels.shape.is_fully_defined()):
        shape = tf.shape(y_pred)
        shape = shape if y_pred.shape.rank == 2 else tf.stack([shape[0], shape[-1]])
        labels = arguments.of_shape("y_true", labels, shape)
    keras_mask, sample_weight = inputs.keras_mask, inputs.sample_weight
    if keras_mask is not None:
        if not keras_mask.shape.is_compatible_with(labels.shape):
            raise ValueError(
                f"the Keras mask of y_pred must have the shape of y_true, {labels.shape}, got {keras_mask.shape}"
            )
        keras_mask = arguments.of_shape("the Keras mask of y_pred", keras_mask, tf.shape(labels))
        keras_mask = tf.cast(keras_mask, tf.bool)
        mask = keras_mask if mask is None else tf.logical_and(mask, keras_mask)
    lists = Lists(labels, mask, groups=inputs.groups)
    if sample_weight is None:
        return lists
    weights = tf.broadcast_to(_item_weights(sample_weight, labels, dtype), tf.shape(labels))
    return lists._replace(weights=lists.only_valid(weights))


def not_negative(labels: tf.Tensor) -> tf.Tensor:
    """Whether labels are at least 0 or NaN."""
    return labels >= 0 if labels.dtype.is_integer else at_least_or_nan(labels, 0)


def _labels_and_mask(y_true: Any, y_pred: tf.Tensor, padding: str | None) -> tuple[tf.Tensor, tf.Tensor | None]:
    """Return dense labels in the dtype of `y_pred`, and whether each belongs to a valid item, None if all do."""
    labels = tf.cast(_dense("y_true", y_true, y_pred), y_pred.dtype)
    if padding == "negative_labels":
        # A label that is NaN is not padding: it makes the result of its list NaN.
        mask = not_negative(labels)
    elif padding == "nan_labels":
        mask = tf.logical_not(tf.math.is_nan(labels))
    else:
        mask = None
    if isinstance(y_true, tf.RaggedTensor):
        within = tf.sequence_mask(y_true.row_lengths(), tf.shape(y_pred)[-1])
        mask = within if mask is None else tf.logical_and(mask, within)
    if padding == "negative_labels":
        _warn_of_negative_labels(labels, mask)
    return labels, mask


def _warn_of_negative_labels(labels: tf.Tensor, mask: tf.Tensor) -> None:
    """Warn if all `labels` [lists, n] are padding, since they are below 0, but do not look like padding.

    Padding has one label, such as -1, so that batches of empty lists give no warning.
    """
    if not tf.executing_eagerly() or mask.numpy().any():
        return
    negative = labels.numpy()[labels.numpy() < 0]
    if negative.size and negative.min() != negative.max():
        warn_once(
            "negative labels",
            f"y_true has only labels below 0, from {negative.min():g} to {negative.max():g}, and "
            'padding="negative_labels" takes them for padding: no item counts. If they are labels, pass padding=None '
            'or padding="nan_labels" to the loss or metric',
        )


def _item_weights(sample_weight: Any, labels: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """The weights, which broadcast against the `labels` [B, n]."""
    weights = tf.cast(_dense("sample_weight", sample_weight, labels), dtype)
    if weights.shape.rank is None:  # as Keras makes it where a model was trained with weights of other ranks
        lists = tf.shape(weights)[0]
        weights = tf.reshape(weights, [lists, tf.maximum(tf.size(weights) // tf.maximum(lists, 1), 1)])
    if weights.shape.rank == 1:
        weights = weights[:, tf.newaxis]
    fits = weights.shape.rank == 0 or (
        weights.shape.rank == 2
        and labels.shape[:1].is_compatible_with(weights.shape[:1])
        and weights.shape[1] in (None, 1, labels.shape[1] or weights.shape[1])
    )
    if not fits:
        raise ValueError(f"sample_weight must have shape [batch], [batch, 1] or [batch, n], got {weights.shape}")
    if weights.shape.rank == 2 and not (weights.shape.is_fully_defined() and labels.shape.is_fully_defined()):
        received, expected = tf.shape(weights), tf.shape(labels)
        same = tf.logical_or(tf.equal(received, expected), [False, received[1] == 1])
        rule = "sample_weight must have shape [batch], [batch, 1] or [batch, n], expected and received:"
        weights = arguments.checked(weights, tf.reduce_all(same), rule, expected, received)
    return weights


def _dense(name: str, value: Any, lists: tf.Tensor) -> tf.Tensor:
    """Convert `value` to a dense tensor. Ragged lists are padded with 0 to the size of the `lists` [..., n]."""
    if not isinstance(value, tf.RaggedTensor):
        return arguments.real_tensor(name, value)
    size = tf.shape(lists)[-1]
    longest = tf.cast(value.bounding_shape(axis=1), size.dtype)
    # Without the check, items that do not fit would be cut off.
    size = arguments.checked(size, longest <= size, f"{name} must have no list longer than those of y_pred")
    return value.to_tensor(shape=tf.stack([-1, size]))


REDUCTIONS = ("auto", "mean", "mean_with_sample_weight", "none", "sum", "sum_over_batch_size")


class WeightedLosses(NamedTuple):
    """The losses of a batch, each already multiplied by its weight."""

    values: tf.Tensor  # [m]
    count: Any  # what a mean divides by; a Python int if it is known to be m
    weights: Callable[[], tf.Tensor]  # [m]


def losses_of_groups(
    losses_of_lists: Callable[[Lists, tf.Tensor], tf.Tensor], lists: Lists, y_pred: tf.Tensor
) -> WeightedLosses:
    """The losses of lists with group ids. Their mean is taken over all groups but those of padding."""

    def with_weights(lists: Lists, y_pred: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        has_items = tf.reduce_any(lists.valid(), axis=-1)
        return losses_of_lists(lists, y_pred), lists.mean_weights(), tf.cast(has_items, tf.int32)

    losses, weights, has_items = for_each_list(with_weights, lists, y_pred)
    return WeightedLosses(losses, tf.reduce_sum(has_items), lambda: weights)


def checked_reduction(reduction: str | None) -> str:
    """Check `reduction`. None becomes "none", and Keras 2's "auto" the mean, its meaning outside of custom loops."""
    name = arguments.one_of("reduction", reduction or "none", REDUCTIONS)
    return "sum_over_batch_size" if name == "auto" else name


def reduced(losses: WeightedLosses, reduction: str) -> tf.Tensor:
    """Return all losses, their sum, their mean, or their sum divided by the sum of the weights. An empty mean is 0."""
    if reduction == "none":
        return losses.values
    is_mean = reduction not in ("sum", "mean_with_sample_weight")
    if is_mean and isinstance(losses.count, int):
        return _share_of_replica(tf.reduce_mean(losses.values))
    total = tf.reduce_sum(losses.values)
    if reduction == "sum":
        return total
    divisor = tf.cast(losses.count, total.dtype) if is_mean else tf.reduce_sum(losses.weights())
    return _share_of_replica(tf.math.divide_no_nan(total, divisor))


def _share_of_replica(mean: tf.Tensor) -> tf.Tensor:
    """The share of a replica in the mean over replicas, given its own mean. Keras 2 divides by their number itself."""
    replicas = tf.distribute.get_strategy().num_replicas_in_sync if IS_KERAS_3 else 1
    return mean if replicas == 1 else mean / replicas


LABEL_TARGETS = ("labels", "ranks")


def sort_direction(target: str, direction: str) -> str:
    """Find the direction in which sorting `y_true` gives the rows of the prediction."""
    arguments.one_of("target", target, LABEL_TARGETS)
    arguments.one_of("direction", direction, arguments.DIRECTIONS)
    if target == "labels":
        return direction
    if direction != "DESCENDING":
        raise ValueError(
            f"direction must be left at 'DESCENDING' with target='ranks' (rank 1 is row 0), got {direction!r}"
        )
    return "ASCENDING"
