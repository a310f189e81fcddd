"""Warnings of targets that are allowed, and most likely a mistake. They look at values, so only eager calls warn."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_softsort._internal.advice import warn_once

# Grades of relevance are hardly larger: LightGBM has gains for labels up to this one.
LARGEST_GRADE = 30


def warn_of_negative_labels(labels: tf.Tensor, mask: tf.Tensor) -> None:
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


def warn_if_no_list_counted(name: str, count: tf.Variable) -> None:
    """Warn if `count`, the weight of all lists that the metric `name` has seen in an epoch, is 0."""
    if not float(tf.convert_to_tensor(count)):
        warn_once(
            "no list counted",
            f'{name} is 0, because no list counted. padding="negative_labels" takes labels below 0 for padding: if '
            'they are labels, pass padding=None or padding="nan_labels" to losses and metrics',
        )


def warn_of_swapped_columns(groups: tf.Tensor, labels: tf.Tensor) -> None:
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
