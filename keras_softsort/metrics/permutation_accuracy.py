"""The share of lists that are sorted perfectly."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._internal.keras_compat import register
from keras_softsort.metrics._base import OrderMetric


@register
class PermutationAccuracy(OrderMetric):
    """The share of lists that are sorted perfectly ("all correct" in the NeuralSort paper).

    Args:
      target: what `y_true` holds: `"labels"` to sort by, or `"ranks"`, 1 = first.
      direction: the order of labels, and of the rows of a soft permutation: `"DESCENDING"` or `"ASCENDING"`.
      lists: what one list is: `"rows"`, each row of `y_pred`, or `"batch"`, the whole batch (a query, a day, an era).
      padding: which labels mark padding: `"negative_labels"`, `"nan_labels"` or None, no label. A Keras mask on
        `y_pred` marks padding, too.
      name: name of the metric.
      dtype: dtype of the result.

    Call arguments: `y_true` is `[batch, n]` or `[batch, n, 1]`. `y_pred` is scores of these shapes, in the sense of
    `target`: sorted as labels or as ranks are; or a soft permutation `[batch, rank, item]`, which `ops.harden` makes
    exact. With fewer than n rows only those ranks count. With `lists="batch"` scores and labels are `[batch]` or
    `[batch, 1]`. Items with equal labels may change places. What predictions hold in padding changes nothing; lists
    without valid items do not count; a list with NaN is wrong. `sample_weight` weighs lists; weights of items are
    averaged over a list.

    Raises:
      ValueError: unknown `target`, `direction`, `lists` or `padding`; `direction="ASCENDING"` with `target="ranks"`;
        shapes that do not match, or that make lists of one item.
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

    def list_values(self, right: tf.Tensor, counted: tf.Tensor) -> tf.Tensor:
        """1 where every counted rank is right."""
        return tf.cast(tf.reduce_all(tf.logical_or(right, tf.logical_not(counted)), axis=-1), tf.float32)
