"""The share of ranks that hold a correct item."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._internal.keras_compat import register
from keras_softsort.metrics._base import OrderMetric


@register
class ElementwiseAccuracy(OrderMetric):
    """The share of ranks that hold a correct item: the mean over each list's ranks, then over lists.

    Arguments, call arguments, ties, padding, NaN, errors and cost: those of `PermutationAccuracy`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> metric = ks.ElementwiseAccuracy()
    >>> _ = metric.update_state(tf.constant([[1.0, 2.0, 3.0, 4.0]]), tf.constant([[5.0, 1.0, 8.0, 9.0]]))
    >>> float(metric.result())
    0.5
    """

    default_name = "elementwise_accuracy"

    def list_values(self, right: tf.Tensor, counted: tf.Tensor) -> tf.Tensor:
        """The share of counted ranks that are right."""
        counted = tf.cast(counted, tf.float32)
        return tf.math.divide_no_nan(
            tf.reduce_sum(tf.cast(right, tf.float32) * counted, -1), tf.reduce_sum(counted, -1)
        )
