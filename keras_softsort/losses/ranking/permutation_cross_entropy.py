"""Cross-entropy of soft permutations with the true order."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort._targets.lists import Lists, sort_direction
from keras_softsort.losses._list_loss import ListLoss, OperatorLoss
from keras_softsort.ops.ranking.permutation_cross_entropy import (
    neural_sort_cross_entropy_loss,
    permutation_cross_entropy_loss,
)


@export
class PermutationCrossEntropyLoss(ListLoss):
    """Cross-entropy of soft permutations `[batch, rank, item]` with the true order.

    Larger labels come first, in row 0. For ranks from 1, where 1 is first, pass `target="ranks"`: as labels, they would
    train a sorter that is upside down.

    Use it after `NeuralSortLayer` or `SoftSortLayer`, to train through a sort. `y_pred` is `[batch, n, n]`, the first k
    rows `[batch, k, n]`, or samples `[batch, num_samples, k, n]`, which are averaged. See
    `ops.permutation_cross_entropy_loss` for the formula, edge cases, errors, cost and source.

    A matrix of `SinkhornLayer` is `[batch, item, place]`, the transpose. A square one raises no error, but would be
    learned transposed. Use `keras.losses.SparseCategoricalCrossentropy()` with the place of each item from 0, or
    `keras.layers.Permute((2, 1))` and `target="ranks"`.

    Args:
      target, direction: as in `metrics.PermutationAccuracy`.
      **kwargs: `lists`, `padding`, `reduction`, `name` and `dtype`; see `ListLoss`.

    Example:
      >>> matrix = ks.ops.neural_sort([[2.0, 5.0, 3.0]], tau=1.0)
      >>> round(float(ks.PermutationCrossEntropyLoss()([[20.0, 50.0, 30.0]], matrix)), 3)
      0.285
      >>> round(float(ks.PermutationCrossEntropyLoss(target="ranks")([[3, 1, 2]], matrix)), 3)
      0.285
    """

    def __init__(self, *, target: str = "labels", direction: str = "DESCENDING", **kwargs: Any) -> None:
        kwargs.setdefault("name", "permutation_cross_entropy")
        super().__init__(**kwargs)
        self._sort_direction = sort_direction(target, direction)
        self._keep_options(target=target, direction=direction)

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list: [batch]."""
        return permutation_cross_entropy_loss(
            y_pred, lists.labels, direction=self._sort_direction, mask=lists.mask, weights=lists.weights
        )


@export
class NeuralSortCrossEntropyLoss(OperatorLoss, operator=neural_sort_cross_entropy_loss):
    """Cross-entropy of the NeuralSort of the scores with the true order of the labels.

    Items with larger labels get larger scores. For ranks from 1, where 1 is first, pass n minus the rank.

    Use it to learn an order if the model outputs one score per item. If it outputs a soft permutation, use
    `PermutationCrossEntropyLoss`. Here lists in a very wrong order have a gradient, too. See
    `ops.neural_sort_cross_entropy_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau, label_tau, stochastic, num_samples, noise_scale: as in `ops.neural_sort_cross_entropy_loss`.
      seed: integer or None, if `stochastic`; see `ListLoss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.NeuralSortCrossEntropyLoss(tau=1.0)([[20.0, 50.0, 30.0]], [[2.0, 5.0, 3.0]])), 3)
      0.285
      >>> ranks = tf.constant([[3, 1, 2]])
      >>> round(float(ks.NeuralSortCrossEntropyLoss(tau=1.0)(3 - ranks, [[2.0, 5.0, 3.0]])), 3)
      0.285
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        label_tau: float | None = None,
        stochastic: bool = False,
        num_samples: int = 8,
        noise_scale: float = 1.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)
