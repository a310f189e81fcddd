"""The layout of predictions, labels, weights and masks: a list per row, one list, or rows with group ids."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.advice import warn_once

LISTS = ("batch", "groups", "rows")
# The kinds of `y_pred` that a loss or metric takes: how many axes they may have beside those of scores, and what they
# must be with a list per row and with one list.
PREDICTS = {
    "scores": ((0,), "be scores [batch, n] or [batch, n, 1]", "be scores [batch] or [batch, 1]"),
    "logits": ((1,), "be logits [batch, n, m]", "be logits [batch, m]"),
    "matrices": ((1, 2), "be a permutation matrix [batch, rank, item]", "be a permutation matrix [rank, item]"),
    "scores or matrices": (
        (0, 1, 2),
        "have shape [batch, n] or [batch, rank, n]",
        "be scores [batch] or [batch, 1], or a permutation matrix [rank, item],",
    ),
}
# Integers from here on are rounded.
EXACT_BELOW = {tf.bfloat16: 2**8, tf.float16: 2**11, tf.float32: 2**24, tf.float64: 2**53}
# Grades of relevance are hardly larger: LightGBM has gains for labels up to this one.
LARGEST_GRADE = 30
_WAYS_OUT = (
    "pass lists='batch' to treat the whole batch as one list, lists='groups' for rows with group ids, predict scores "
    "of shape [batch, n] or [batch, n, 1], or make batches of lists from rows with a group column by "
    "keras_softsort.data (ks.data)"
)


class ListInputs(NamedTuple):
    """The call arguments of a loss or metric, with one list per row. With group ids there is one row for all lists."""

    y_true: Any  # [lists, n], dense or ragged
    y_pred: tf.Tensor  # [lists, n], [lists, ranks, n] or [lists, samples, ranks, n]
    sample_weight: Any  # None, a number, [lists], [lists, 1] or [lists, n]
    keras_mask: tf.Tensor | None  # [lists, n]
    groups: tf.Tensor | None = None  # [n]: the id of the list of each item


def checked_lists(lists: str, predicts: str) -> str:
    """Check what one list is, for predictions of this kind."""
    arguments.one_of("lists", lists, LISTS)
    if lists == "groups" and predicts == "matrices":
        raise ValueError("lists must be 'batch' or 'rows' where y_pred is a permutation matrix, got 'groups'")
    return lists


def list_inputs(y_true: Any, y_pred: Any, sample_weight: Any, *, lists: str, predicts: str) -> ListInputs:
    """Arrange the call arguments with one list per row. Dense lists that can only hold one item are an error."""
    groups = None
    if lists == "groups":
        groups, y_true = groups_and_labels(y_true)
        predicts = predicts.removesuffix(" or matrices")
    inputs = ListInputs(y_true, y_pred, sample_weight, getattr(y_pred, "_keras_mask", None), groups)
    size_is_data = isinstance(y_pred, tf.RaggedTensor) and y_pred.shape[1] is None
    if isinstance(y_pred, tf.RaggedTensor):
        inputs = _dense_lists(inputs, lists, predicts)
    inputs = inputs._replace(y_pred=arguments.floating_tensor("y_pred", inputs.y_pred))
    inputs = _arranged(inputs, lists, predicts, size_is_data)
    if lists != "rows":
        inputs = _with_list_axis(inputs, lists)
    if groups is None:
        return inputs
    if not groups.shape.is_compatible_with(inputs.y_pred.shape[1:2]):
        raise ValueError(f"y_true must have a group id for each row of y_pred, got {groups.shape[0]} ids")
    return inputs._replace(groups=arguments.of_shape("the group ids of y_true", groups, tf.shape(inputs.y_pred)[1:2]))


def groups_and_labels(y_true: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """The group ids `[batch]` and the labels, of `[batch, 1 + m]` with the ids in the first column or of a pair."""
    if isinstance(y_true, tuple) and len(y_true) == 2:  # a list may be two rows
        groups = _without_last_axis("the group ids of y_true", y_true[0], 1)
        labels = y_true[1] if isinstance(y_true[1], tf.RaggedTensor) else arguments.real_tensor("y_true", y_true[1])
    else:
        columns = arguments.real_tensor("y_true", y_true)
        if columns.shape.rank != 2 or columns.shape[1] == 1:
            raise ValueError(
                "y_true must be [batch, 2], group ids and labels, or a pair of both with lists='groups', "
                f"got shape {columns.shape}"
            )
        groups, labels = columns[:, 0], columns[:, 1:]
    if groups.dtype.is_floating:
        limit = EXACT_BELOW[groups.dtype]
        exact = tf.logical_and(tf.abs(groups) < limit, tf.equal(groups, tf.round(groups)))
        rule = f"the group ids of y_true must be integers below {limit} in {groups.dtype.name}, before the labels, got"
        groups = arguments.checked(groups, tf.reduce_all(exact), rule, groups)
    _warn_of_swapped_columns(groups, labels)
    return groups, labels


def _warn_of_swapped_columns(groups: tf.Tensor, labels: tf.Tensor) -> None:
    """Warn if group ids look like labels, and labels like group ids: `[label, id]` in place of `[id, label]`.

    That is so if each "label" is an integer that fills consecutive rows, and "group ids" are much fewer, small, and
    scattered over the rows.
    """
    size = groups.shape.num_elements()
    if not tf.executing_eagerly() or not size or labels.shape.num_elements() != size:
        return
    ids, grades = np.ravel(labels.numpy()), np.ravel(groups.numpy())
    blocks, levels = np.unique(ids), np.unique(grades)
    if (
        2 * len(levels) < len(blocks) <= len(ids) / 2
        and _runs(ids) == len(blocks)
        and _runs(grades) > len(levels)
        and levels[0] >= 0
        and levels[-1] <= LARGEST_GRADE
        and np.array_equal(blocks, np.round(blocks))
    ):
        warn_once(
            "swapped columns",
            "y_true must have the group id in the first column and the label in the second with lists='groups'; got "
            f"{len(levels)} scattered values in the first, from {levels[0]:g} to {levels[-1]:g}, and {len(blocks)} "
            "blocks of equal integers in the second. If these are labels and ids, exchange the columns",
        )


def _runs(values: np.ndarray) -> int:
    """The number of runs of equal values."""
    return 1 + np.count_nonzero(values[1:] != values[:-1])


def _dense_lists(inputs: ListInputs, lists: str, predicts: str) -> ListInputs:
    """Pad ragged scores, and mark the padding in the mask."""
    rank = 3 if predicts == "logits" else 2
    y_pred = _without_last_axis("y_pred", inputs.y_pred, rank)
    if y_pred.shape.rank != rank or lists != "rows":
        expected = "logits [batch, n, m]" if predicts == "logits" else "scores [batch, n]"
        raise TypeError(
            f"y_pred must be dense, or ragged {expected} with lists='rows', "
            f"got ragged shape {y_pred.shape} and lists={lists!r}"
        )
    lengths = y_pred.row_lengths()
    y_true = _of_lengths("y_true", inputs.y_true, lengths)
    sample_weight = _of_lengths("sample_weight", inputs.sample_weight, lengths)
    return ListInputs(y_true, y_pred.to_tensor(), sample_weight, tf.sequence_mask(lengths))


def _of_lengths(name: str, value: Any, lengths: tf.Tensor) -> Any:
    """Check that `value`, if it is ragged, has lists of these lengths."""
    if not isinstance(value, tf.RaggedTensor):
        return value
    received, lengths = tf.cast(value.row_lengths(), tf.int64), tf.cast(lengths, tf.int64)
    same = tf.reduce_all(tf.equal(received, lengths))
    values = arguments.checked(value.flat_values, same, f"{name} must have lists of the lengths of those of y_pred")
    return value.with_flat_values(values)


def _arranged(inputs: ListInputs, lists: str, predicts: str, size_is_data: bool) -> ListInputs:
    """Check the shapes of dense predictions, and drop a last axis of size 1, of labels and weights too."""
    axes, y_pred, shape = (2 if lists == "rows" else 1), inputs.y_pred, inputs.y_pred.shape
    # If the last axis is unknown, a permutation matrix goes before the column of a `Dense(1)`.
    may_be_one = shape.rank == axes + 1 and (shape[-1] == 1 or (shape[-1] is None and predicts == "scores"))
    if may_be_one and predicts not in ("logits", "matrices"):
        y_pred = tf.squeeze(y_pred, axis=-1)
    if lists == "rows" and shape.rank < 2:
        raise ValueError(f"y_pred must hold one list per row, got shape {shape}: {_WAYS_OUT}")
    more_axes, of_rows, of_one_list = PREDICTS[predicts]
    if y_pred.shape.rank - axes not in more_axes:
        expected = of_rows if lists == "rows" else f"{of_one_list} with lists={lists!r}"
        raise ValueError(f"y_pred must {expected}, got shape {shape}")
    if lists == "rows" and not size_is_data and y_pred.shape[1 if predicts == "logits" else -1] == 1:
        raise ValueError(f"lists of one item have no order, got y_pred of shape {shape}: {_WAYS_OUT}")
    weights, mask = inputs.sample_weight, inputs.keras_mask
    return inputs._replace(
        y_true=_without_last_axis("y_true", inputs.y_true, axes),
        y_pred=y_pred,
        sample_weight=None if weights is None else _without_last_axis("sample_weight", weights, axes),
        keras_mask=None if mask is None else _without_last_axis("the Keras mask", mask, axes),
    )


def _with_list_axis(inputs: ListInputs, lists: str) -> ListInputs:
    """Add the axis of the list to the call arguments of one list."""
    y_true, sample_weight, mask = inputs.y_true, inputs.sample_weight, inputs.keras_mask
    for name, value, ranks in (("y_true", y_true, (1,)), ("sample_weight", sample_weight, (0, 1, None))):
        if isinstance(value, tf.RaggedTensor) or (value is not None and value.shape.rank not in ranks):
            title = "the labels of y_true" if name == "y_true" and lists == "groups" else name
            raise ValueError(f"{title} must have shape [batch] or [batch, 1] with lists={lists!r}, got {value.shape}")
    if sample_weight is not None and sample_weight.shape.rank is None:
        sample_weight = tf.reshape(sample_weight, [-1])
    if sample_weight is not None and sample_weight.shape.rank == 1:
        if not sample_weight.shape.is_compatible_with(y_true.shape):
            raise ValueError(
                f"sample_weight must have a weight for each label of y_true, {y_true.shape}, got {sample_weight.shape}"
            )
        sample_weight = arguments.of_shape("sample_weight", sample_weight, tf.shape(y_true))[tf.newaxis]
    return inputs._replace(
        y_true=y_true[tf.newaxis],
        y_pred=inputs.y_pred[tf.newaxis],
        sample_weight=sample_weight,
        keras_mask=None if mask is None else mask[tf.newaxis],
    )


def _without_last_axis(name: str, value: Any, rank: int) -> Any:
    """Convert `value` to a tensor, unless it is ragged, and drop a last axis of size 1 in excess of `rank` axes."""
    if not isinstance(value, tf.RaggedTensor):
        value = arguments.real_tensor(name, value)
        is_column = value.shape.rank == rank + 1 and value.shape[-1] in (1, None)
        return tf.squeeze(value, axis=-1) if is_column else value
    if value.shape.rank != rank + 1 or value.flat_values.shape[-1] != 1:
        return value
    return value.with_flat_values(tf.squeeze(value.flat_values, axis=-1))
