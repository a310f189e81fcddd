"""The rank correlation of labels and predictions."""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal.keras_compat import register
from keras_softsort._targets.lists import Lists
from keras_softsort.metrics._base import ListMetric
from keras_softsort.ops._core import validation


@register
class KendallTau(ListMetric):
    """Kendall's tau-b between labels and predictions, from -1 (reversed) to 1 (the right order): a mean over lists.

    `tau_b = (C - D) / sqrt((C + D + P) * (C + D + L))`, where the pairs of a list's items are C in the same order in
    both, D in opposite orders, L tied in the labels alone and P tied in the predictions alone.

    Args:
      target: what `y_true` `[batch, n]` holds: `"labels"` to sort by, or `"ranks"`, 1 = first. A value below 0 is
        padding.
      direction: the order of labels, and of the rows of a soft permutation: `"DESCENDING"` or `"ASCENDING"`. It makes
        no difference to scores.
      name: of the metric.
      dtype: of its result.

    `y_pred` is a soft permutation `[batch, n, n]` (rank by item, hardened by `ops.harden`: compared are the items'
    ranks, which have no ties) or `[batch, n]`, scores in the sense of `target`: large for large labels, or for late
    ranks. A list whose scores are all equal gives 0, and so does one with NaN. Padding changes nothing; lists whose
    labels are all equal, among them those of fewer than two items, have no order to find and do not count.
    `sample_weight` weighs lists; weights of items are averaged over a list.

    Cost: O(n^2) time and memory a list.

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

    def measure(self, y_pred: tf.Tensor, lists: Lists) -> tuple[tf.Tensor, tf.Tensor]:
        """Tau-b of each list, and whether its labels differ."""
        scores = y_pred if y_pred.shape.rank == 2 else self._scores_of_matrix(y_pred)
        nan = tf.logical_or(tf.math.is_nan(scores), tf.math.is_nan(lists.labels))
        failed = tf.reduce_any(tf.logical_and(nan, lists.mask), axis=-1)
        labels, predicted = _pair_signs(lists.labels, lists.mask), _pair_signs(scores, lists.mask)
        agreement = tf.reduce_sum(labels * predicted, axis=[1, 2])
        label_pairs, predicted_pairs = (tf.reduce_sum(tf.abs(signs), axis=[1, 2]) for signs in (labels, predicted))
        tau = tf.math.divide_no_nan(agreement, tf.sqrt(label_pairs * predicted_pairs))
        # NaN labels are a failure to be seen, as they are in the accuracies, not a list without an order.
        size = tf.reduce_sum(tf.cast(lists.mask, tf.int32), axis=-1)
        counts = tf.logical_or(label_pairs > 0, tf.logical_and(failed, size > 1))
        return tf.where(failed, tf.zeros_like(tau), tau), counts

    def _scores_of_matrix(self, y_pred: tf.Tensor) -> tf.Tensor:
        """A number [batch, n] for each item that is in the order of `y_true`; NaN where the matrix holds one."""
        ranks, size = y_pred.shape[1:]
        if None not in (ranks, size) and ranks != size:
            raise ValueError(f"y_pred must have shape [batch, n] or [batch, n, n], all ranks of it, got {y_pred.shape}")
        shape = tf.shape(y_pred)
        y_pred = validation.of_shape("y_pred", y_pred, tf.stack([shape[0], shape[2], shape[2]]))
        failed = tf.reduce_any(tf.math.is_nan(y_pred), axis=[1, 2])
        rank = tf.cast(tf.argmax(ops.harden(y_pred), axis=1, output_type=tf.int32), y_pred.dtype)
        scores = -rank if self._sort_direction == "DESCENDING" else rank
        return tf.where(failed[:, tf.newaxis], tf.constant(math.nan, scores.dtype), scores)


def _pair_signs(values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """1, -1 or 0 as the first of a pair of kept items is the larger, the smaller or tied: [batch, n, n] in float32.

    By comparisons, which do not take two infinities for NaN, nor lose a small difference.
    """
    first, second = values[:, :, tf.newaxis], values[:, tf.newaxis, :]
    signs = tf.cast(first > second, tf.float32) - tf.cast(first < second, tf.float32)
    kept = tf.logical_and(mask[:, :, tf.newaxis], mask[:, tf.newaxis, :])
    return tf.where(kept, signs, tf.zeros_like(signs))
