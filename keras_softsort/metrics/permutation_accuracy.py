"""The share of lists that are sorted perfectly."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.metrics._base import OrderMetric


@export
class PermutationAccuracy(OrderMetric):
    """The share of lists that are sorted perfectly ("all correct" in the NeuralSort paper).

    Args:
      target: what `y_true` holds. `"labels"`: numbers to sort by. `"ranks"`: the rank of each item, from 1.
      direction: order of the labels, and of the rows of a soft permutation: `"DESCENDING"` or `"ASCENDING"`. It must
        be `"DESCENDING"` with `target="ranks"`, since rank 1 is row 0.
      lists: what one list is. `"rows"`: each row of `y_pred`. `"batch"`: the whole batch (a query, a day, an era).
      padding: which labels mark padding: `"negative_labels"`, `"nan_labels"` or None (no label does). A Keras mask of
        `y_pred` also marks padding. Predictions in padding, even NaN, never affect the result.
      name: name of the metric.
      dtype: dtype of the result.

    Call arguments:
      y_true: `[batch, n]` or `[batch, n, 1]`.
      y_pred: scores of such a shape, or a soft permutation `[batch, rank, item]`, which `ops.harden` makes exact. If it
        has fewer than n ranks, only those count. Scores follow `target`: they are large for large labels, or for late
        ranks.
      sample_weight: weights of lists, `[batch]` or `[batch, 1]`, or of items, `[batch, n]`, which are averaged over
        each list.

    With `lists="batch"` all shapes lose their first axis: labels and scores are `[batch]` or `[batch, 1]`. Items with
    equal labels may be in either order. A list with a NaN counts as wrong. Lists without valid items do not count.

    Raises:
      ValueError: `target`, `direction`, `lists` or `padding` is unknown; `direction` is `"ASCENDING"` with
        `target="ranks"`; shapes do not match, or a list can hold only one item.
      TypeError: `y_pred` is not floating-point.

    Cost: O(n^2) time per list for a matrix, O(n log n) for scores.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> metric = ks.PermutationAccuracy()
    >>> labels = tf.constant([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    >>> _ = metric.update_state(labels, tf.constant([[1.0, 5.0, 9.0], [5.0, 1.0, 9.0]]))
    >>> float(metric.result())
    0.5
    """

    default_name = "permutation_accuracy"

    def list_values(self, is_correct: tf.Tensor, is_counted: tf.Tensor) -> tf.Tensor:
        """1 for lists in which every rank that counts is correct."""
        return tf.cast(tf.reduce_all(tf.logical_or(is_correct, tf.logical_not(is_counted)), axis=-1), tf.float32)
