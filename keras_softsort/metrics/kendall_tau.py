"""Kendall's rank correlation of labels and predictions."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.metrics._correlation import CorrelationMetric
from keras_softsort.ops.correlation._kendall_tau import kendall_tau


@export
class KendallTau(CorrelationMetric):
    """Kendall's rank correlation (tau-b) of labels and predictions, from -1 (reversed) to 1 (same order).

    `tau_b = (C - D) / sqrt((C + D + P) * (C + D + L))`. Of all pairs of items of a list, C have the same order in
    labels and predictions, D have opposite orders, L are tied only in the labels and P only in the predictions. The
    metric is the mean over lists, or with `statistic="mean_over_std"` the mean divided by the standard deviation.

    Args:
      target: what `y_true` holds. `"labels"`: numbers to sort by. `"ranks"`: the rank of each item, from 1.
      direction: order of the rows of a soft permutation, `"DESCENDING"` or `"ASCENDING"`. It does not affect scores.
      statistic: statistic over lists. `"mean"`, or `"mean_over_std"`: the mean divided by the standard deviation (of
        the population, and 0 if the deviation is 0).
      lists: what one list is. `"rows"`: each row of `y_pred`. `"batch"`: the whole batch (a query, a day, an era).
      padding: which labels mark padding: `"negative_labels"`, `"nan_labels"` or None (no label does). A Keras mask of
        `y_pred` also marks padding. Predictions in padding, even NaN, never affect the result.
      name: name of the metric.
      dtype: dtype of the result.

    Call arguments:
      y_true: `[batch, n]` or `[batch, n, 1]`.
      y_pred: scores of such a shape, or a soft permutation `[batch, rank, item]` with all n ranks, which `ops.harden`
        turns into ranks without ties. Scores follow `target`: they are large for large labels, or for late ranks.
      sample_weight: weights of lists, `[batch]` or `[batch, 1]`, or of items, `[batch, n]`, which are averaged over
        each list.

    With `lists="batch"` all shapes lose their first axis: labels and scores are `[batch]` or `[batch, 1]`. A list with
    constant scores or a NaN has the value 0. Lists with constant labels, and so all lists of fewer than two items, do
    not count.

    Raises:
      ValueError: `target`, `direction`, `statistic`, `lists` or `padding` is unknown; `direction` is `"ASCENDING"` with
        `target="ranks"`; shapes do not match, or a list can hold only one item.
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
