"""The share of ranks that hold a correct item."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.metrics._base import OrderMetric


@export
class ElementwiseAccuracy(OrderMetric):
    """The share of ranks that hold a correct item, averaged over the ranks of each list and then over lists.

    Arguments, call arguments, ties, padding, NaN, errors and cost are those of `PermutationAccuracy`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> metric = ks.ElementwiseAccuracy()
    >>> _ = metric.update_state(tf.constant([[1.0, 2.0, 3.0, 4.0]]), tf.constant([[5.0, 1.0, 8.0, 9.0]]))
    >>> float(metric.result())
    0.5
    """

    default_name = "elementwise_accuracy"

    def list_values(self, is_correct: tf.Tensor, is_counted: tf.Tensor) -> tf.Tensor:
        """The share of correct ranks among those that count."""
        counted = tf.cast(is_counted, tf.float32)
        correct = tf.reduce_sum(tf.cast(is_correct, tf.float32) * counted, -1)
        return tf.math.divide_no_nan(correct, tf.reduce_sum(counted, -1))
