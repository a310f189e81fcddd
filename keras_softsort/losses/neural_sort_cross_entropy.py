"""Cross-entropy between the order of the labels and the NeuralSort of the scores."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort._targets.lists import Lists
from keras_softsort.losses._cross_entropy import cross_entropies, true_order
from keras_softsort.losses._scores import TemperatureLoss
from keras_softsort.ops.sorting import _dispatch
from keras_softsort.ops.sorting._arguments import sort_arguments


@register
class NeuralSortCrossEntropyLoss(TemperatureLoss):
    """Cross-entropy of the NeuralSort of scores with the order of the labels, a mean over ranks and lists.

    Of a list with m items: `-(1 / m) sum_i sum_j T_ij w_j log P_ij`, where P is the NeuralSort of the scores, T_ij is
    1 for the item j that belongs at rank i (tied items share their ranks evenly) and w_j is the item's weight. This is
    `PermutationCrossEntropyLoss` of `neural_sort(scores, tau)`, without the matrix in between: log P is exact where P
    underflows, so that lists in a very wrong order have their gradient too.

    Args:
      tau: temperature of P, a positive number in units of the scores times the list size.
      label_tau: `None` for the exact order of the labels, or a positive number: T is the NeuralSort of the labels at
        this temperature, so that items of like labels share ranks. As it goes to 0 that becomes the exact order.
      reduction: `"sum_over_batch_size"` (mean over lists), `"sum"`, or `None` or `"none"`: each list's.
      name: of the loss.

    Call arguments: `y_true` `[batch, n]`, relevance from 0 on, a label below 0 being padding; `y_pred` `[batch, n]`,
    scores (both dense or ragged); `sample_weight` `[batch]`, `[batch, 1]` or `[batch, n]`. A Keras mask on `y_pred`
    marks items. Padding changes nothing. A list without a label above 0, and an empty one, costs 0 with zero gradient.
    Computed in float32 for half precision. A label or score that is not finite makes its list's loss NaN.

    TF-Ranking's `NeuralSortCrossEntropyLoss(temperature=tau)` has the value of `label_tau=1`, up to the 1e-20 that it
    adds to P, and the same without `label_tau` where labels are far apart. Of weights of items it makes one weight a
    list, their mean weighted by the labels.

    Raises:
      ValueError: `tau` or `label_tau` <= 0, unknown `reduction`, shapes that do not match.
      TypeError: `tau` or `label_tau` is not a number, `y_pred` is not floating-point.

    Cost: O(n^2) time and memory a list.

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
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "neural_sort_cross_entropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(tau, lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.label_tau = None if label_tau is None else arguments.positive_number("label_tau", label_tau)

    def score_losses(self, lists: Lists, scores: tf.Tensor) -> tf.Tensor:
        """The loss of each list: [batch]."""
        if self.label_tau is None:
            shares = true_order(lists, "DESCENDING", tf.shape(scores)[1])
        else:
            shares = _dispatch.permutation(sort_arguments(lists.labels, self.label_tau, mask=lists.mask))
        log_weights = _dispatch.log_permutation(sort_arguments(scores, self.tau, mask=lists.mask))
        # Where nothing belongs they may be -inf.
        counts = tf.not_equal(shares * lists.weights[:, tf.newaxis, :], 0)
        losses = cross_entropies(lists, shares, tf.where(counts, log_weights, tf.zeros_like(log_weights)))
        relevant = tf.reduce_any(tf.not_equal(lists.labels, 0), axis=-1)
        return tf.where(relevant, losses, tf.zeros_like(losses))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "label_tau": self.label_tau}
