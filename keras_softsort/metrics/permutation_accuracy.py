"""The share of lists whose whole order is right."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._internal.keras_compat import register
from keras_softsort.metrics._base import OrderMetric


@register
class PermutationAccuracy(OrderMetric):
    """The share of lists that are in the right order throughout ("all correct" in the NeuralSort paper).

    Args:
      target: what `y_true` `[batch, n]` holds: `"labels"` to sort by, or `"ranks"`, 1 = first. A value below 0 is
        padding.
      direction: the order of labels, and of the rows of a soft permutation: `"DESCENDING"` or `"ASCENDING"`.
      name: of the metric.
      dtype: of its result.

    `y_pred` is a soft permutation `[batch, rank, item]` (hardened by `ops.harden`; with fewer than n rows only those
    ranks count) or `[batch, n]`, scores in the sense of `target`: sorted as labels or as ranks are. Items with equal
    labels may change places. Padding changes nothing; empty lists do not count; NaN is wrong. `sample_weight` weighs
    lists; weights of items are averaged over a list.

    Cost: O(n^2) time a list for a matrix, O(n log n) for scores.

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
