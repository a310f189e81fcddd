"""Cross-entropy between the true permutation and a soft one: the loss of the NeuralSort paper's sorting task."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from keras_softsort._internal.keras_compat import register
from keras_softsort._targets.lists import Lists
from keras_softsort._targets.true_order import sort_direction
from keras_softsort.losses._base import ListLoss
from keras_softsort.losses._cross_entropy import cross_entropies, true_order
from keras_softsort.ops._core import validation


@register
class PermutationCrossEntropyLoss(ListLoss):
    """Cross-entropy of soft permutations `[batch, rank, item]` with the true order, a mean over ranks and lists.

    Of a list with m items: `-(1 / m) sum_i sum_j T_ij w_j log P_ij`, where T_ij is 1 for the item j that belongs at
    rank i (tied items share their ranks evenly) and w_j is the item's weight.

    Args:
      target: what `y_true` `[batch, n]` holds: `"labels"` to sort by, or `"ranks"`, 1 = first. A value below 0 is
        padding.
      direction: the order of the rows of P for labels: `"DESCENDING"` (row 0 = the largest label) or `"ASCENDING"`.
        Ranks need none.
      reduction: `"sum_over_batch_size"` (mean over lists), `"sum"`, or `None` or `"none"`: each list's.
      name: of the loss.

    Call arguments: `y_true` `[batch, n]` (dense or ragged), `y_pred` `[batch, n, n]` or the first rows
    `[batch, k, n]` (then the mean is over the first min(k, m) ranks), or samples of such `[batch, num_samples, k, n]`,
    whose loss is the mean over samples; `sample_weight` `[batch]`, `[batch, 1]` or
    `[batch, n]`. A Keras mask on `y_pred` marks items. Padding changes nothing, an empty list costs 0. Computed in
    float32 for half precision. A weight that has underflowed to 0 counts as the smallest normal number and has no
    gradient. A NaN label makes its list's loss NaN.

    Raises:
      ValueError: unknown `target`, `direction` or `reduction`, `direction` given with ranks, shapes that do not match.
      TypeError: `y_pred` is not floating-point.

    Cost: O(n^2) time and memory a list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[20.0, 50.0, 30.0]]), tf.constant([[2.0, 5.0, 3.0]])
    >>> loss = ks.PermutationCrossEntropyLoss()
    >>> round(float(loss(labels, ks.ops.neural_sort(scores, tau=1.0))), 3)
    0.285

    Source: A. Grover, E. Wang, A. Zweig, S. Ermon, "Stochastic Optimization of Sorting Networks via Continuous
    Relaxations", ICLR 2019, section 6.1.
    """

    def __init__(
        self,
        *,
        target: str = "labels",
        direction: str = "DESCENDING",
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "permutation_cross_entropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self._sort_direction = sort_direction(target, direction)
        self.target = target
        self.direction = direction

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list: [batch]."""
        shares = true_order(lists, self._sort_direction, tf.shape(y_pred)[-2])
        tiny = tf.constant(validation.dtype_tiny(y_pred.dtype), y_pred.dtype)
        log_weights = tf.math.log(tf.maximum(y_pred, tiny))
        if y_pred.shape.rank == 4:
            log_weights = tf.reduce_mean(log_weights, axis=1)  # all else is linear in it
        entropies = cross_entropies(lists, shares, log_weights)
        nan_list = tf.reduce_any(tf.math.is_nan(lists.labels), axis=-1)
        return tf.where(nan_list, tf.constant(math.nan, y_pred.dtype), entropies)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "target": self.target, "direction": self.direction}
