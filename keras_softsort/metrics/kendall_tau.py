"""Kendall's rank correlation of labels and predictions."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._internal.keras_compat import register
from keras_softsort.metrics._correlation import CorrelationMetric
from keras_softsort.ops.correlation._kendall_tau import kendall_tau


@register
class KendallTau(CorrelationMetric):
    """Kendall's tau-b of labels and predictions, from -1 (reversed) to 1 (the right order).

    `tau_b = (C - D) / sqrt((C + D + P) * (C + D + L))`: of the pairs of a list's items, C are in the same order in
    both, D in opposite orders, L tied only in the labels and P tied only in the predictions. The metric is the mean
    over lists, or with `statistic="mean_over_std"` the mean divided by the standard deviation.

    Args:
      target: what `y_true` `[batch, n]` holds: `"labels"` to sort by, or `"ranks"`, 1 = first. A value below 0 is
        padding.
      direction: the order of labels, and of the rows of a soft permutation: `"DESCENDING"` or `"ASCENDING"`. It makes
        no difference to scores.
      statistic: `"mean"` over lists, or `"mean_over_std"`: the mean divided by the standard deviation over lists (of
        the population, with divisor n; 0 where it is 0).
      name: name of the metric.
      dtype: dtype of the result.

    `y_pred` is `[batch, n]`, scores in the sense of `target`: large for large labels, or for late ranks. Or it is a
    soft permutation `[batch, n, n]` (rank by item), which `ops.harden` makes the items' ranks of, without ties. A list
    with constant scores has the value 0, and so has one with NaN. What is written in padding changes nothing. Lists
    with constant labels, such as those of fewer than two items, do not count. `sample_weight` weighs lists; weights
    of items are averaged over a list.

    Raises:
      ValueError: unknown `target`, `direction` or `statistic`; `direction="ASCENDING"` with `target="ranks"`; shapes
        that do not match.
      TypeError: `y_pred` is not floating-point.

    Cost: O(n log n) time and O(n) memory per list of scores; O(n^2) for a matrix.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> metric = ks.KendallTau()
    >>> _ = metric.update_state(tf.constant([[1.0, 2.0, 3.0, 4.0]]), tf.constant([[5.0, 1.0, 8.0, 9.0]]))
    >>> round(float(metric.result()), 4)
    0.6667

    Source: M. G. Kendall, "The Treatment of Ties in Ranking Problems", Biometrika, 1945.
    """

    default_name = "kendall_tau"

    def correlation(self, labels: tf.Tensor, scores: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Tau-b of each list."""
        return kendall_tau(labels, scores, mask)
