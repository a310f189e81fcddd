"""Cross-entropy of the NeuralSort of the scores with the order of the labels."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.losses._operator_loss import ScoreOperatorLoss
from keras_softsort.ops.ranking.listwise.neural_sort_cross_entropy import neural_sort_cross_entropy


@export
class NeuralSortCrossEntropyLoss(ScoreOperatorLoss):
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
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. A list whose labels are all 0 gives 0. A label or score that
    is not finite makes the loss of its list NaN.

    TF-Ranking's `NeuralSortCrossEntropyLoss(temperature=tau)` has the value of `label_tau=1`, up to the 1e-20 that it
    adds to P. If labels are far apart, it also has the value of `label_tau=None`. It reduces item weights to one weight
    per list, their mean weighted by the labels.

    Raises:
      ValueError: `tau` or `label_tau` is not positive, a name is unknown, or shapes do not match.
      TypeError: `tau` or `label_tau` is not a number, `y_pred` is not floating-point.

    Cost: O(n^2) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[20.0, 50.0, 30.0]]), tf.constant([[2.0, 5.0, 3.0]])
    >>> round(float(ks.NeuralSortCrossEntropyLoss(tau=1.0)(labels, scores)), 3)
    0.285

    Source: A. Grover, E. Wang, A. Zweig, S. Ermon, "Stochastic Optimization of Sorting Networks via Continuous
    Relaxations", ICLR 2019, section 6.1.
    """

    _operator = staticmethod(neural_sort_cross_entropy)
    _options = ("tau", "label_tau")

    def __init__(
        self,
        tau: float = 1.0,
        *,
        label_tau: float | None = None,
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "neural_sort_cross_entropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.tau = arguments.positive_number("tau", tau)
        self.label_tau = None if label_tau is None else arguments.positive_number("label_tau", label_tau)
