"""The layout of predictions, labels, weights and masks: a list per row, one list, or rows with group ids."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments

LISTS = ("batch", "groups", "rows")
# The kinds of `y_pred` that a loss or metric takes.
PREDICTS = ("scores", "logits", "matrices", "scores or matrices")
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
    """Arrange the call arguments with one list per row. Lists that can only hold one item are an error.

    Ragged lists can hold more, even where no list of this batch does: their sizes are data.
    """
    groups = None
    if lists == "groups":
        groups, y_true = groups_and_labels(y_true)
        predicts = predicts.removesuffix(" or matrices")
    inputs = ListInputs(y_true, y_pred, sample_weight, getattr(y_pred, "_keras_mask", None))
    size_is_data = isinstance(y_pred, tf.RaggedTensor) and y_pred.shape[1] is None
    if isinstance(y_pred, tf.RaggedTensor):
        inputs = _dense_lists(inputs, lists, predicts)
    inputs = inputs._replace(y_pred=arguments.floating_tensor("y_pred", inputs.y_pred))
    if lists == "rows":
        return _list_per_row(inputs, predicts, size_is_data)
    inputs = _one_list(inputs, predicts, lists)._replace(groups=groups)
    if groups is not None and not groups.shape.is_compatible_with(inputs.y_pred.shape[1:2]):
        raise ValueError(f"y_true must have a group id for each row of y_pred, got {groups.shape[0]} ids")
    return inputs


def groups_and_labels(y_true: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """The group ids `[batch]` and the labels, of `[batch, 1 + m]` with the ids in the first column or of a pair."""
    if isinstance(y_true, tuple) and len(y_true) == 2:  # a list may be two rows
        groups, labels = _without_last_axis("the group ids of y_true", y_true[0], 1), y_true[1]
    else:
        columns = arguments.real_tensor("y_true", y_true)
        if columns.shape.rank != 2 or columns.shape[1] == 1:
            raise ValueError(
                "y_true must be [batch, 2], group ids and labels, or a pair of both with lists='groups', "
                f"got shape {columns.shape}"
            )
        groups, labels = columns[:, 0], columns[:, 1:]
    if groups.dtype.is_floating:
        largest = 2**53 if groups.dtype == tf.float64 else 2**24
        exact = tf.logical_and(tf.abs(groups) <= largest, tf.equal(groups, tf.round(groups)))
        rule = f"the group ids of y_true must be integers, of at most {largest} in {groups.dtype.name}, got"
        groups = arguments.checked(groups, tf.reduce_all(exact), rule, groups)
    return groups, labels


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
    y_true, sample_weight, _ = _columns_as_lists(inputs._replace(keras_mask=None), 2)
    return ListInputs(
        _of_lengths("y_true", y_true, lengths),
        y_pred.to_tensor(),
        _of_lengths("sample_weight", sample_weight, lengths),
        tf.sequence_mask(lengths),
    )


def _of_lengths(name: str, value: Any, lengths: tf.Tensor) -> Any:
    """Check that `value`, if it is ragged, has lists of these lengths."""
    if not isinstance(value, tf.RaggedTensor):
        return value
    received, lengths = tf.cast(value.row_lengths(), tf.int64), tf.cast(lengths, tf.int64)
    same = tf.reduce_all(tf.equal(received, lengths))
    values = arguments.checked(value.flat_values, same, f"{name} must have lists of the lengths of those of y_pred")
    return value.with_flat_values(values)


def _list_per_row(inputs: ListInputs, predicts: str, size_is_data: bool) -> ListInputs:
    y_pred, shape = inputs.y_pred, inputs.y_pred.shape
    if predicts not in ("logits", "matrices") and shape.rank == 3 and _may_be_one(shape[-1], predicts):
        y_pred = tf.squeeze(y_pred, axis=-1)
    if shape.rank < 2:
        raise ValueError(f"y_pred must hold one list per row, got shape {shape}: {_WAYS_OUT}")
    if predicts == "scores" and y_pred.shape.rank != 2:
        raise ValueError(f"y_pred must be scores [batch, n] or [batch, n, 1], got shape {shape}")
    if predicts == "matrices" and shape.rank not in (3, 4):
        raise ValueError(f"y_pred must be a permutation matrix [batch, rank, item], got shape {shape}")
    if predicts == "logits" and shape.rank != 3:
        raise ValueError(f"y_pred must be logits [batch, n, m], got shape {shape}")
    if y_pred.shape.rank > 4:
        raise ValueError(f"y_pred must have shape [batch, n] or [batch, rank, n], got {shape}")
    if not size_is_data and y_pred.shape[1 if predicts == "logits" else -1] == 1:
        raise ValueError(f"lists of one item have no order, got y_pred of shape {shape}: {_WAYS_OUT}")
    y_true, sample_weight, mask = _columns_as_lists(inputs, 2)
    return ListInputs(y_true, y_pred, sample_weight, mask)


def _one_list(inputs: ListInputs, predicts: str, lists: str) -> ListInputs:
    y_pred, shape = inputs.y_pred, inputs.y_pred.shape
    if predicts not in ("logits", "matrices") and shape.rank == 2 and _may_be_one(shape[-1], predicts):
        y_pred = tf.squeeze(y_pred, axis=-1)
    ranks = {"scores": (1,), "logits": (2,), "matrices": (2, 3), "scores or matrices": (1, 2, 3)}[predicts]
    if y_pred.shape.rank not in ranks:
        expected = {
            "scores": "scores [batch] or [batch, 1]",
            "logits": "logits [batch, m]",
            "matrices": "a permutation matrix [rank, item]",
            "scores or matrices": "scores [batch] or [batch, 1], or a permutation matrix [rank, item],",
        }[predicts]
        raise ValueError(f"y_pred must be {expected} with lists={lists!r}, got shape {shape}")
    y_true, sample_weight, mask = _columns_as_lists(inputs, 1)
    for name, value in (("y_true", y_true), ("sample_weight", sample_weight)):
        rank = None if value is None else value.shape.rank
        if isinstance(value, tf.RaggedTensor) or rank not in ((1,) if name == "y_true" else (None, 0, 1)):
            title = "the labels of y_true" if name == "y_true" and lists == "groups" else name
            raise ValueError(f"{title} must have shape [batch] or [batch, 1] with lists={lists!r}, got {value.shape}")
    if sample_weight is not None and sample_weight.shape.rank == 1:
        sample_weight = sample_weight[tf.newaxis]
    return ListInputs(y_true[tf.newaxis], y_pred[tf.newaxis], sample_weight, None if mask is None else mask[tf.newaxis])


def _may_be_one(size: int | None, predicts: str) -> bool:
    """Whether a last axis of this size can be that of `Dense(1)`. If it is unknown, a permutation matrix goes first."""
    return size == 1 or (size is None and predicts == "scores")


def _columns_as_lists(inputs: ListInputs, rank: int) -> tuple[Any, Any, Any]:
    """Labels, weights and mask as tensors, without a last axis of size 1 in excess of `rank` axes."""
    named = {"y_true": inputs.y_true, "sample_weight": inputs.sample_weight, "the Keras mask": inputs.keras_mask}
    y_true, sample_weight, mask = (
        None if value is None and name != "y_true" else _without_last_axis(name, value, rank)
        for name, value in named.items()
    )
    return y_true, sample_weight, mask


def _without_last_axis(name: str, value: Any, rank: int) -> Any:
    if not isinstance(value, tf.RaggedTensor):
        value = arguments.real_tensor(name, value)
        is_column = value.shape.rank == rank + 1 and value.shape[-1] in (1, None)
        return tf.squeeze(value, axis=-1) if is_column else value
    if value.shape.rank != rank + 1 or value.flat_values.shape[-1] != 1:
        return value
    return value.with_flat_values(tf.squeeze(value.flat_values, axis=-1))
