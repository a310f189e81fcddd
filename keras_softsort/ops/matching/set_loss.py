"""The loss of predicted sets: match targets to predictions, then add up the losses of matched and unmatched ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort.ops.core.numbers import nan_lists
from keras_softsort.ops.core.order import take
from keras_softsort.ops.matching._assignment import matched_pairs
from keras_softsort.ops.matching._assignment_costs import has_no_answer

NORMALIZATIONS = ("batch", "set", "none")
Structure = Any  # a tensor or a nest of tensors [batch, items, ...]


@export(calls_back=True)
def set_loss(
    targets: Structure,
    predictions: Structure,
    pair_cost: Callable[[Structure, Structure], Any],
    matched_loss: Callable[[Structure, Structure], Any],
    unmatched_loss: Callable[[Structure], Any] | None = None,
    *,
    class_loss: Callable[[Structure, Structure], Any] | None = None,
    unmatched_weight: float = 1.0,
    target_mask: Any = None,
    prediction_mask: Any = None,
    normalization: str = "batch",
    skip_nan: bool = False,
) -> tf.Tensor:
    """Compute the loss of each predicted set: match predictions to targets, then add up the losses of both kinds.

    The matching a minimizes `sum_i pair_cost(t_i, p_a(i))` exactly, and has no gradient. The loss of a set is `sum_i
    matched_loss(t_i, p_a(i)) + w sum_(j not in a) unmatched_loss(p_j)` with the `unmatched_weight` w. `SetLoss` divides
    it by the number of targets, and says when to use it.

    With a `class_loss` it is `sum_i matched_loss(t_i, p_a(i)) + T / W (sum_i class_loss(t_i, p_a(i)) + w sum_(j not in
    a) unmatched_loss(p_j))`. T is the number of targets in the batch, at least 1, and W that of matched predictions
    plus w times that of unmatched ones. Divided by T, the classes then have their weighted mean, as in DETR.

    Args:
      targets: a tensor `[batch, m, ...]` or a nest of such tensors (a dictionary, say), as the functions take them.
      predictions: a tensor `[batch, n, ...]` or a nest of such tensors, of which at least one is floating-point.
      pair_cost: function `(targets, predictions) -> [batch, m, n]`, the cost of each pair. It gets no gradient. +inf
        forbids a pair.
      matched_loss: function `(targets, predictions) -> [batch, m]`; its second argument holds the prediction of each
        target, `[batch, m, ...]`.
      unmatched_loss: function `(predictions) -> [batch, n]`, the loss of predictions without a target, such as the
        cross-entropy with the class "no object". None for 0.
      class_loss: function as `matched_loss`, the loss of the class of a matched pair, or None. With the
        `unmatched_loss` it becomes a weighted mean over predictions.
      unmatched_weight: weight of the `unmatched_loss`, a number of at least 0.
      target_mask, prediction_mask: bool `[batch, m]` and `[batch, n]`, True for valid targets and predictions. The
        functions see 0 in place of masked targets.
      normalization: how the caller divides, which matters with a `class_loss` only. `"batch"`: T and W are those of the
        batch. `"set"`: of each set. `"none"`: T / W is 1.
      skip_nan: whether a set that would give NaN gives 0 and gradients of 0 instead.

    Returns:
      `[batch]`, the loss of each set, in the dtype of the matched losses. Masked items never affect it. In sets without
      valid targets all predictions are unmatched. If there are more targets than predictions, the remaining targets add
      nothing, and nor does a target whose costs are all +inf. Among equally good matchings one is chosen. A set with a
      cost of NaN or -inf gives NaN. Half precision is summed in float32. Cost and source are those of `match`.

    Raises:
      TypeError: a function is not callable, a mask is not bool, or there are no floating-point predictions.
      ValueError: shapes do not match.

    Example:
      >>> cost, loss = lambda t, p: tf.abs(t[:, :, None] - p[:, None, :]), lambda t, p: tf.abs(t - p)
      >>> ks.ops.set_loss(tf.constant([[2.0, 5.0]]), tf.constant([[5.5, 1.75]]), cost, loss).numpy().tolist()
      [0.75]
    """
    arguments.function("pair_cost", pair_cost)
    arguments.function("matched_loss", matched_loss)
    arguments.optional(arguments.function)("unmatched_loss", unmatched_loss)
    arguments.optional(arguments.function)("class_loss", class_loss)
    unmatched_weight = arguments.non_negative_number("unmatched_weight", unmatched_weight)
    normalization = arguments.one_of("normalization", normalization, NORMALIZATIONS)
    targets = checked_items("targets", targets, "m")
    predictions = checked_items("predictions", predictions, "n")
    if not _floating(predictions):
        raise TypeError("predictions must hold a floating-point tensor")
    target_mask = _item_mask("target_mask", target_mask, targets)
    prediction_mask = _item_mask("prediction_mask", prediction_mask, predictions)
    targets = tf.nest.map_structure(
        lambda each: tf.where(_over_items(target_mask, each), each, tf.zeros_like(each)), targets
    )

    target, prediction = tf.nest.flatten(targets)[0], tf.nest.flatten(predictions)[0]
    fixed = tf.nest.map_structure(tf.stop_gradient, predictions)
    cost = _result("pair_cost", pair_cost, targets, fixed, m=target, n=prediction)
    matching = matched_pairs(cost, target_mask, prediction_mask)
    failed = has_no_answer(-cost, target_mask, prediction_mask)
    if arguments.boolean("skip_nan", skip_nan):
        failed |= _any_nan(prediction_mask, predictions)
        # Zeros, so that no NaN of a function reaches the gradient.
        predictions = tf.nest.map_structure(
            lambda each: tf.where(_over_items(failed, each, 1), tf.zeros_like(each), each), predictions
        )
    chosen = tf.nest.map_structure(lambda each: take(_not_empty(each), matching.columns), predictions)
    chosen = _with_gradient_where(matching.row_matched, chosen)
    losses = _result("matched_loss", matched_loss, targets, chosen, m=target)
    result = _masked_sum(losses, matching.row_matched)
    classes = tf.zeros_like(result)
    if class_loss is not None:
        own = _result("class_loss", class_loss, targets, chosen, m=target)
        classes += tf.cast(_masked_sum(own, matching.row_matched), result.dtype)
    unmatched = tf.logical_and(prediction_mask, tf.logical_not(matching.column_matched))
    if unmatched_loss is not None:
        others = _with_gradient_where(unmatched, predictions)
        others = _result("unmatched_loss", unmatched_loss, others, n=prediction)
        classes += unmatched_weight * tf.cast(_masked_sum(others, unmatched), result.dtype)
    if class_loss is not None and normalization != "none":
        weight = unmatched_weight if unmatched_loss is not None else 0.0
        pairs, others, items = (tf.cast(mask, result.dtype) for mask in (matching.row_matched, unmatched, target_mask))
        axis = None if normalization == "batch" else 1
        classes *= _targets_over_weights(pairs, others, items, weight, axis=axis)
    result += classes
    if skip_nan:
        result = tf.where(failed | tf.math.is_nan(result), tf.zeros_like(result), result)
        return tf.cast(result, losses.dtype)
    for each in _floating(predictions):
        result = nan_lists(failed, result, each)
    return tf.cast(result, losses.dtype)


def _floating(structure: Structure) -> list[tf.Tensor]:
    return [each for each in tf.nest.flatten(structure) if each.dtype.is_floating]


def _targets_over_weights(
    matched: tf.Tensor, unmatched: tf.Tensor, targets: tf.Tensor, unmatched_weight: float, axis: int | None
) -> tf.Tensor:
    """The number of targets, at least 1, over the weights of predictions: [batch], or a scalar with axis None."""
    weights = tf.reduce_sum(matched, axis) + unmatched_weight * tf.reduce_sum(unmatched, axis)
    return tf.math.divide_no_nan(tf.maximum(tf.reduce_sum(targets, axis), 1), weights)


def _any_nan(mask: tf.Tensor, structure: Structure) -> tf.Tensor:
    """Whether a valid item of each set holds NaN: [batch]."""
    found = [
        tf.reduce_any(_over_items(mask, each) & tf.math.is_nan(each), axis=list(range(1, each.shape.rank)))
        for each in _floating(structure)
    ]
    return tf.reduce_any(tf.stack(found), axis=0)


def _not_empty(items: tf.Tensor) -> tf.Tensor:
    """Add an item of zeros to `items` [batch, n, ...] where n may be 0, which a target without a match can point to."""
    if items.shape[1] in (None, 0):
        return tf.pad(items, [[0, 0], [0, 1], *[[0, 0]] * (items.shape.rank - 2)])
    return items


def checked_items(name: str, value: Any, size: str) -> Structure:
    """Return `value` as a nest of tensors with the same batch size and number of items, `size` in errors."""
    tensors = [arguments.dense_tensor(name, each) for each in tf.nest.flatten(value)]
    shapes = [tensor.shape for tensor in tensors]
    if not shapes or any(shape.rank is None or shape.rank < 2 for shape in shapes):
        raise ValueError(f"{name} must hold tensors [batch, {size}, ...], got {', '.join(map(str, shapes)) or 'none'}")
    if not all(shape[:2].is_compatible_with(shapes[0][:2]) for shape in shapes):
        raise ValueError(f"{name} must hold tensors with equal batch and {size}, got {', '.join(map(str, shapes))}")
    return tf.nest.pack_sequence_as(value, tensors)


def _item_mask(name: str, mask: Any, structure: Structure) -> tf.Tensor:
    """Return `mask` as a bool tensor, checked to have the shape [batch, items] of `structure`; True for None."""
    items = tf.nest.flatten(structure)[0]
    if mask is None:
        return tf.ones(tf.shape(items)[:2], tf.bool)
    mask = arguments.bool_mask(name, mask)
    if not mask.shape.is_compatible_with(items.shape[:2]):
        raise ValueError(f"{name} must have shape {items.shape[:2]}, got {mask.shape}")
    return arguments.of_shape(name, mask, tf.shape(items)[:2])


def _with_gradient_where(mask: tf.Tensor, structure: Structure) -> Structure:
    """Return the same values, with gradient 0 where `mask` [batch, items] is False, even if the upstream one is NaN."""
    return tf.nest.map_structure(
        lambda each: tf.where(_over_items(mask, each), each, tf.stop_gradient(each)), structure
    )


def _over_items(mask: tf.Tensor, each: tf.Tensor, rank: int = 2) -> tf.Tensor:
    """Return `mask` [batch, items], or [batch] of rank 1, with as many axes as `each` [batch, items, ...]."""
    ones = tf.ones([each.shape.rank - rank], tf.int32)
    return tf.reshape(mask, tf.concat([tf.shape(mask), ones], axis=0))


def _masked_sum(losses: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    losses = tf.cast(losses, compute_dtype(losses.dtype))
    return tf.reduce_sum(tf.where(mask, losses, tf.zeros_like(losses)), axis=1)


_LAYERS = "SetLoss reads predictions of several layers, [batch, layers, n, ...], with layer_axis=1."
_PADDING = (
    "The targets hold negative numbers: if they mark padding, pass target_mask, with which functions see 0 instead."
)
# Parts of what TensorFlow says of a class of -1 in cross-entropies, `tf.gather` and `tf.gather_nd`.
_INDEX_ERRORS = ("outside the valid range", "is not in [", "does not index into")


def _is_of_padding(targets: Structure, error: Exception) -> bool:
    """Whether `error` is about an index, and the unmasked `targets` hold negative numbers, as far as they are known."""
    known = [tf.get_static_value(each) for each in tf.nest.flatten(targets)]
    negative = any(each is not None and each.dtype.kind in "if" and (each < 0).any() for each in known)
    return negative and any(part in str(error) for part in _INDEX_ERRORS)


def _result(name: str, function: Callable[..., Any], *structures: Structure, **sides: tf.Tensor) -> tf.Tensor:
    """Call the function `name`, and check its shape `[batch, m]`, `[batch, n]` or `[batch, m, n]` by the `sides`."""
    try:
        value = function(*structures)
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        received = " and ".join(str(tf.nest.map_structure(lambda each: each.shape, each)) for each in structures)
        hint = _PADDING if len(structures) == 2 and _is_of_padding(structures[0], error) else _LAYERS
        raise ValueError(f"{name} failed for tensors of shape {received}. {hint} The error: {error}") from error
    tensor = arguments.floating_tensor(f"the result of {name}", value)
    items = list(sides.values())
    expected = items[-1].shape[:1].concatenate([each.shape[1] for each in items])
    if not tensor.shape.is_compatible_with(expected):
        described = ", ".join(["batch", *sides])
        raise ValueError(f"{name} must return shape [{described}], which is {expected} here, got {tensor.shape}")
    sizes = tf.stack([tf.shape(items[-1])[0], *(tf.shape(each)[1] for each in items)])
    return arguments.of_shape(f"the result of {name}", tensor, sizes)
