"""Accuracies of predicted orders as metrics."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal.export import export
from keras_softsort._targets.lists import Lists
from keras_softsort.metrics._base import SortMetric, has_nan, with_lowest_padding
from keras_softsort.ops.core.order import descending, masked_last
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
        sizes = tf.reduce_sum(tf.cast(lists.mask, tf.int32), axis=-1)
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
