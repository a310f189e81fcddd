"""Rank correlations of labels and predictions as metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._targets.lists import Lists
from keras_softsort.metrics._base import SortMetric, has_nan, with_lowest_padding

STATISTICS = ("mean", "mean_over_std")


class CorrelationMetric(SortMetric):
    """Base class of metrics that correlate labels and predictions of each list.

    Args:
      target, direction, statistic, **kwargs: see `KendallTau`.
    """

    _operator: Callable[..., tf.Tensor]  # 0 for constant scores

    def __init__(
        self, *, target: str = "labels", direction: str = "DESCENDING", statistic: str = "mean", **kwargs: Any
    ) -> None:
        super().__init__(target=target, direction=direction, **kwargs)
        self._keep_options(statistic=arguments.one_of("statistic", statistic, STATISTICS))
        if statistic == "mean_over_std":
            # Sums of weights, values and squares, in float64 because the variance is a difference of them.
            self._moments = [
                self.add_weight(name=f"moment_{power}", shape=(), initializer="zeros", dtype="float64")
                for power in range(3)
            ]

    def compare(self, lists: Lists, y_pred: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The correlation of each list, and whether the list counts: its labels must differ."""
        nan_labels = has_nan(lists.labels, lists.mask)
        failed = tf.logical_or(nan_labels, has_nan(y_pred, lists.mask))
        scores = y_pred if y_pred.shape.rank == 2 else self._scores_of_matrix(y_pred, lists.mask)
        values = tf.cast(self._operator(lists.labels, scores, mask=lists.mask), scores.dtype)
        # A list with NaN labels counts as 0, as in the accuracies, so that the error shows.
        size = tf.reduce_sum(tf.cast(lists.mask, tf.int32), axis=-1)
        counts = tf.logical_or(_differ(lists.labels, lists.mask), tf.logical_and(nan_labels, size > 1))
        return tf.where(failed, tf.zeros_like(values), values), counts

    def add(self, values: tf.Tensor, weights: tf.Tensor) -> Any:
        """Add lists to the mean and, if the statistic needs them, to the moments."""
        if self.statistic == "mean_over_std":
            values64, weights64 = tf.cast(values, tf.float64), tf.cast(weights, tf.float64)
            for power, moment in enumerate(self._moments):
                moment.assign_add(tf.reduce_sum(weights64 * values64**power))
        return super().add(values, weights)

    def result(self) -> Any:
        """The statistic; 0 before the first list, and where the standard deviation is 0."""
        if self.statistic == "mean":
            return super().result()
        weight, total, squares = map(tf.convert_to_tensor, self._moments)
        mean = tf.math.divide_no_nan(total, weight)
        variance = tf.maximum(tf.math.divide_no_nan(squares, weight) - tf.square(mean), 0)
        # For equal values only rounding is left; it counts as 0.
        variance = tf.where(variance > 1e-14 * tf.square(mean), variance, tf.zeros_like(variance))
        return tf.cast(tf.math.divide_no_nan(mean, tf.sqrt(variance)), self.dtype)

    def _scores_of_matrix(self, y_pred: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Make scores [batch, n] in the order of the soft permutation, in the sense of `target`."""
        ranks, size = y_pred.shape[1:]
        if None not in (ranks, size) and ranks != size:
            raise ValueError(f"y_pred must have shape [batch, n] or [batch, n, n], with all ranks, got {y_pred.shape}")
        shape = tf.shape(y_pred)
        y_pred = arguments.of_shape("y_pred", y_pred, tf.stack([shape[0], shape[2], shape[2]]))
        hard = ops.harden(with_lowest_padding(y_pred, mask))
        rank = tf.cast(tf.argmax(hard, axis=1, output_type=tf.int32), y_pred.dtype)
        return -rank if self._sort_direction == "DESCENDING" else rank


def _differ(values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Whether the valid `values` [batch, n] of each list differ: [batch]."""
    lowest, highest = (tf.constant(limit, values.dtype) for limit in (values.dtype.min, values.dtype.max))
    values = tf.clip_by_value(values, lowest, highest)  # they may be infinite
    largest = tf.reduce_max(tf.where(mask, values, lowest), axis=-1)
    return largest > tf.reduce_min(tf.where(mask, values, highest), axis=-1)


@export
class KendallTau(CorrelationMetric):
    """Kendall's rank correlation (tau-b) of labels and predictions, from -1 (reversed) to 1 (same order).

    Use it for targets without grades of relevance, such as prices. `ops.kendall_tau` has the formula and source.

    Args:
      target: as in `PermutationAccuracy`.
      direction: order of the rows of a soft permutation, `"DESCENDING"` or `"ASCENDING"`. It does not affect scores.
      statistic: statistic over lists. `"mean"`, or `"mean_over_std"`: the mean divided by the standard deviation (of
        the population, and 0 if the deviation is 0). With `lists="batch"` each batch is one list.
      **kwargs: `lists`, `padding`, `name` and `dtype`; see `NDCG`.

    `y_true`, `y_pred` and weights are as in `PermutationAccuracy`, but a soft permutation must have all n ranks. A list
    with constant scores or a NaN has the value 0. Lists with constant labels, and so all lists of fewer than two items,
    do not count. O(n log n) time and O(n) memory per list of scores; O(n^2) for a matrix.

    Example:
      >>> round(float(ks.KendallTau()([[1, 2, 3, 4]], [[5.0, 1.0, 8.0, 9.0]])), 4)
      0.6667
    """

    _operator = staticmethod(ops.kendall_tau)


@export
class SpearmanCorrelation(CorrelationMetric):
    """Spearman's rank correlation of labels and predictions, from -1 (reversed) to 1 (same order).

    The metric of `SpearmanLoss`. `ops.spearman_correlation` has the formula and source. The rest is as in `KendallTau`.

    Example:
      >>> round(float(ks.SpearmanCorrelation()([[1, 2, 3, 4]], [[5.0, 1.0, 8.0, 9.0]])), 4)
      0.8
    """

    _operator = staticmethod(ops.spearman_correlation)
