"""Cross-entropy of soft permutations with the true order."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort._targets.lists import Lists, sort_direction
from keras_softsort.losses._base import ListLoss
from keras_softsort.losses._score_loss import OperatorLoss
from keras_softsort.ops.ranking.permutation_cross_entropy import (
    neural_sort_cross_entropy_loss,
    permutation_cross_entropy_loss,
)


@export
class PermutationCrossEntropyLoss(ListLoss):
    """Cross-entropy of soft permutations `[batch, rank, item]` with the true order.

    Use it after `NeuralSortLayer` or `SoftSortLayer`, to train through a sort. By default a label below 0 marks
    padding.

    A matrix of `SinkhornLayer` is `[batch, item, place]`, the transpose: a square one would be learned transposed, and
    is not told apart. Use `keras.losses.SparseCategoricalCrossentropy()` with the place of each item from 0, or
    `keras.layers.Permute((2, 1))` and `target="ranks"`.

    For a list of m items: `-(1 / m) sum_i sum_j T_ij w_j log P_ij`, where T_ij is 1 for the item j that belongs at rank
    i (tied items share their ranks evenly) and w_j is the item's weight.

    Args:
      target: what `y_true` holds. `"labels"`: numbers to sort by. `"ranks"`: the rank of each item, from 1.
      direction: order of the rows of P: `"DESCENDING"` (row 0 is the largest label) or `"ASCENDING"`. It must be
        `"DESCENDING"` with `target="ranks"`, since rank 1 is row 0.
      **kwargs: `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, masks and weights: see `ListLoss`. `y_pred` is `[batch, n, n]`, or the first k rows `[batch, k, n]`, and
    then the mean is over the first min(k, m) ranks. Samples `[batch, num_samples, k, n]` are averaged. An entry of P
    that has underflowed to 0 counts as the smallest normal number, and has no gradient. A NaN label, or a NaN in a
    valid entry of P, makes the loss of its list NaN.

    Raises:
      ValueError: a name is unknown, `direction` is given with ranks, or shapes do not match.
      TypeError: `y_pred` is not floating-point.

    Cost: O(n^2) time and memory per list and sample.

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

    Use it to learn an order if the model outputs one score per item. If it outputs a soft permutation, use
    `PermutationCrossEntropyLoss`. By default a label below 0 marks padding.

    For a list of m items: `-(1 / m) sum_i sum_j T_ij w_j log P_ij`, where P is the NeuralSort of the scores, T_ij is 1
    for the item j that belongs at rank i (tied items share their ranks evenly) and w_j is the item's weight. It is
    `PermutationCrossEntropyLoss` of `neural_sort(scores, tau)`, but log P is exact even if P underflows, so that lists
    in a very wrong order also have a gradient.

    Args:
      tau: temperature of P, a positive number in units of the scores times the list size.
      label_tau: None for the exact order of the labels, or a positive number: T is the NeuralSort of the labels at
        this temperature, so that items with similar labels share ranks. As it goes to 0 that becomes the exact order.
      stochastic: whether to add Gumbel noise to the scores and take the mean over samples: stochastic NeuralSort.
      num_samples: number of samples, if `stochastic`.
      noise_scale: factor of the noise, at least 0, if `stochastic`.
      seed: integer seed or None, if `stochastic`. Each call draws new noise from TensorFlow's generator.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. A list whose labels are all 0 gives 0. A label or score that
    is not finite makes the loss of its list NaN.

    TF-Ranking's `NeuralSortCrossEntropyLoss(temperature=tau)` has the value of `label_tau=1`, up to the 1e-20 that it
    adds to P. Its `gumbel_neural_sort_cross_entropy_loss` is that with `stochastic=True`. If labels are far apart, it
    also has the value of `label_tau=None`. It reduces item weights to one weight per list, their mean weighted by the
    labels.

    Raises:
      ValueError: `tau` or `label_tau` is not positive, `num_samples` is below 1, `noise_scale` is below 0, a name is
        unknown, or shapes do not match.
      TypeError: `tau` or `label_tau` is not a number, `y_pred` is not floating-point.

    Cost: O(n^2) time and memory per list and sample.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[20.0, 50.0, 30.0]]), tf.constant([[2.0, 5.0, 3.0]])
    >>> round(float(ks.NeuralSortCrossEntropyLoss(tau=1.0)(labels, scores)), 3)
    0.285

    Source: A. Grover, E. Wang, A. Zweig, S. Ermon, "Stochastic Optimization of Sorting Networks via Continuous
    Relaxations", ICLR 2019, section 6.1.
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
