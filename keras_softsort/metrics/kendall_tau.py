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
      target: what `y_true` holds: `"labels"` to sort by, or `"ranks"`, 1 = first.
      direction: the order of labels, and of the rows of a soft permutation: `"DESCENDING"` or `"ASCENDING"`. It makes
        no difference to scores.
      statistic: `"mean"` over lists, or `"mean_over_std"`: the mean divided by the standard deviation over lists (with
        the number of lists as divisor; 0 where the deviation is 0).
      lists: what one list is: `"rows"`, each row of `y_pred`, or `"batch"`, the whole batch (a query, a day, an era).
      padding: which labels mark padding: `"negative_labels"`, `"nan_labels"` or None, no label. A Keras mask on
        `y_pred` marks padding, too.
      name: name of the metric.
      dtype: dtype of the result.

    Call arguments: `y_true` is `[batch, n]` or `[batch, n, 1]`. `y_pred` is scores of these shapes, in the sense of
    `target`: large for large labels, or for late ranks; or a soft permutation `[batch, n, n]` (rank by item), which
    `ops.harden` turns into ranks without ties. With `lists="batch"` scores and labels are `[batch]` or `[batch, 1]`. A
    list with constant scores has the value 0, and so has one with NaN. What predictions hold in padding changes
    nothing. Lists with constant labels, such as those of fewer than two items, do not count. `sample_weight` weighs
    lists; weights of items are averaged over a list.

    Raises:
      ValueError: unknown `target`, `direction`, `statistic`, `lists` or `padding`; `direction="ASCENDING"` with
        `target="ranks"`; shapes that do not match, or that make lists of one item.
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
