"""Metrics of orders: accuracies of predicted orders, and rank correlations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._targets.lists import Lists
from keras_softsort.metrics._base import SortMetric, has_nan, with_lowest_padding
from keras_softsort.ops.core.order import descending, masked_last, valid_counts
from keras_softsort.ops.ranking.permutation_cross_entropy import sorted_labels


class OrderMetric(SortMetric):
    """Base class of metrics that compare the item at each rank with the item that belongs there."""

    def list_values(self, is_correct: tf.Tensor, is_counted: tf.Tensor) -> tf.Tensor:
        """The value of each list [batch], from which ranks are correct and which of them count [batch, ranks]."""
        raise NotImplementedError

    def compare(self, lists: Lists, y_pred: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Compare predicted with true orders. Every list counts."""
        order = self._predicted_order(lists, y_pred)
        ranks = tf.shape(order)[1]
        is_correct = tf.equal(
            tf.gather(lists.labels, order, batch_dims=1),
            sorted_labels(lists.labels, lists.mask, self._sort_direction)[:, :ranks],
        )
        failed = has_nan(y_pred, lists.mask)
        is_correct = tf.logical_and(is_correct, tf.logical_not(failed)[:, tf.newaxis])
        sizes = valid_counts(lists.mask)
        values = self.list_values(is_correct, tf.sequence_mask(sizes, ranks))
        return values, tf.ones_like(failed)

    def _predicted_order(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """Find the item at each rank [batch, ranks] of a soft permutation, or of scores."""
        if y_pred.shape.rank == 3:
            return tf.argmax(ops.harden(with_lowest_padding(y_pred, lists.mask)), axis=-1, output_type=tf.int32)
        keys = y_pred if self._sort_direction == "DESCENDING" else -y_pred
        _, order = descending(masked_last(keys, lists.mask))
        return order


@export
class PermutationAccuracy(OrderMetric):
    """The share of lists that are sorted perfectly ("all correct" in the NeuralSort paper).

    Larger labels come first. For ranks from 1, where 1 is first, pass `target="ranks"` if `y_pred` is a soft
    permutation, and n minus the rank if it is scores of which the largest is first.

    For models that learn to sort. Items with equal labels may be in either order. A list with a NaN counts as wrong.

    Args:
      target: the content of `y_true`. `"labels"`: numbers to sort by. `"ranks"`: the rank of each item, from 1.
      direction: order of the labels, and of the rows of a soft permutation: `"DESCENDING"` or `"ASCENDING"`. It must be
        `"DESCENDING"` with `target="ranks"`, since rank 1 is row 0.
      **kwargs: `lists`, `padding`, `name` and `dtype`; see `NDCG`.

    Call arguments:
      y_true: `[batch, n]` or `[batch, n, 1]`.
      y_pred: scores of such a shape, or a soft permutation `[batch, rank, item]`, which `ops.harden` makes exact. If it
        has fewer than n ranks, only those count. Samples are averaged. Scores follow `target`: large for large labels,
        or for late ranks.
      sample_weight: weights of lists, `[batch]` or `[batch, 1]`, or of items, `[batch, n]`, which are averaged over
        each list. They must not be negative. Lists without valid items do not count.

    Padding, the shapes for other `lists`, and errors are as in `NDCG`. O(n^2) time for a matrix, O(n log n) for scores.

    Example:
      >>> float(ks.PermutationAccuracy()([[1, 2, 3], [1, 2, 3]], [[1.0, 5.0, 9.0], [5.0, 1.0, 9.0]]))
      0.5
      >>> ranks, scores = tf.constant([[3, 1, 2]]), [[2.0, 5.0, 3.0]]
      >>> float(ks.PermutationAccuracy(target="ranks")(ranks, ks.neural_sort(scores)))
      1.0
      >>> float(ks.PermutationAccuracy()(3 - ranks, scores))
      1.0
    """

    def list_values(self, is_correct: tf.Tensor, is_counted: tf.Tensor) -> tf.Tensor:
        """1 for lists in which every rank that counts is correct."""
        return tf.cast(tf.reduce_all(tf.logical_or(is_correct, tf.logical_not(is_counted)), axis=-1), tf.float32)


@export
class ElementwiseAccuracy(OrderMetric):
    """The share of ranks that hold a correct item, averaged over the ranks of each list and then over lists.

    Larger labels come first; `PermutationAccuracy` says what to pass for ranks. This metric also counts lists that are
    nearly sorted. The rest is as in `PermutationAccuracy`.

    Example:
      >>> float(ks.ElementwiseAccuracy()([[1, 2, 3, 4]], [[5.0, 1.0, 8.0, 9.0]]))
      0.5
      >>> float(ks.ElementwiseAccuracy(target="ranks")([[3, 1, 2]], ks.neural_sort([[2.0, 5.0, 3.0]])))
      1.0
    """

    def list_values(self, is_correct: tf.Tensor, is_counted: tf.Tensor) -> tf.Tensor:
        """The share of correct ranks among those that count."""
        counted = tf.cast(is_counted, tf.float32)
        correct = tf.reduce_sum(tf.cast(is_correct, tf.float32) * counted, -1)
        return tf.math.divide_no_nan(correct, tf.reduce_sum(counted, -1))


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
        size = valid_counts(lists.mask)
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
