"""Cross-entropy of soft permutations with the true order."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort._targets.lists import Lists, sort_direction
from keras_softsort.losses._base import ListLoss
from keras_softsort.ops.ranking.listwise.permutation_cross_entropy import permutation_cross_entropy


@export
class PermutationCrossEntropyLoss(ListLoss):
    """Cross-entropy of soft permutations `[batch, rank, item]` with the true order.

    Use it after `NeuralSortLayer` or `SoftSortLayer`, to train through a sort. By default a label below 0 marks
    padding.

    For a list of m items: `-(1 / m) sum_i sum_j T_ij w_j log P_ij`, where T_ij is 1 for the item j that belongs at rank
    i (tied items share their ranks evenly) and w_j is the item's weight.

    Args:
      target: what `y_true` holds. `"labels"`: numbers to sort by. `"ranks"`: the rank of each item, from 1.
      direction: order of the rows of P: `"DESCENDING"` (row 0 is the largest label) or `"ASCENDING"`. It must be
        `"DESCENDING"` with `target="ranks"`, since rank 1 is row 0.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, masks and weights: see `ListLoss`. `y_pred` is `[batch, n, n]`, or the first k rows `[batch, k, n]`, and
    then the mean is over the first min(k, m) ranks. Samples `[batch, num_samples, k, n]` are averaged. An entry of P
    that has underflowed to 0 counts as the smallest normal number, and has no gradient. A NaN label, or a NaN in a
    valid entry of P, makes the loss of its list NaN.

    Raises:
      ValueError: a name is unknown, `direction` is given with ranks, or shapes do not match.
      TypeError: `y_pred` is not floating-point.

    Cost: O(n^2) time and memory per list.

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
        return permutation_cross_entropy(
            y_pred, lists.labels, direction=self._sort_direction, mask=lists.mask, weights=lists.weights
        )

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            **super().get_config(),
            "target": self.target,
            "direction": self.direction,
        }
