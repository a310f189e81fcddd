"""Spearman's rank correlation of labels and predictions."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.metrics._correlation import CorrelationMetric
from keras_softsort.ops.correlation._spearman import spearman_correlation


@export
class SpearmanCorrelation(CorrelationMetric):
    """Spearman's rank correlation of labels and predictions, from -1 (reversed) to 1 (same order).

    `rho = cov(r, q) / (std(r) std(q))`, where r are the ranks of a list's labels and q those of its predictions. Tied
    items have their mean rank, as in SciPy's `spearmanr`. The metric is the mean over lists, or with
    `statistic="mean_over_std"` the mean divided by the standard deviation.

    Arguments, call arguments, padding, NaN and errors are those of `KendallTau`.

    Cost: O(n log n) time and O(n) memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> metric = ks.SpearmanCorrelation()
    >>> _ = metric.update_state(tf.constant([[1.0, 2.0, 3.0, 4.0]]), tf.constant([[5.0, 1.0, 8.0, 9.0]]))
    >>> round(float(metric.result()), 4)
    0.8

    Source: C. Spearman, "The Proof and Measurement of Association between Two Things", American Journal of
    Psychology 15, 1904.
    """

    default_name = "spearman_correlation"

    def correlation(self, labels: tf.Tensor, scores: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Spearman's correlation of each list."""
        return spearman_correlation(labels, scores, mask)
