"""One minus Spearman's rank correlation, with soft ranks of the scores."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._score_loss import OperatorLoss
from keras_softsort.ops.ranking.spearman import spearman_loss


@export
class SpearmanLoss(OperatorLoss, operator=spearman_loss):
    """1 minus Spearman's rank correlation of labels and scores, from 0 (same order) to 2 (reversed).

    Use it to make predictions follow the order of continuous targets, whatever their scale: tabular models, scores per
    day or era. For a model of rows that ends in `Dense(1)`, pass `lists="batch"` to correlate over the batch.

    By default a label below 0 marks padding. If your targets are centered around 0, as returns and residuals are, pass
    `padding=None` or `padding="nan_labels"`; otherwise all negative targets are left out.

    The correlation of a list is `sum_i (r_i - mean r)(q_i - mean q) / sqrt(sum_i (r_i - mean r)^2 sum_i (q_i - mean
    q)^2)`, where r are the ranks of the labels (tied ones have their mean rank) and q the soft ranks of the scores,
    `ops.soft_rank`.

    Args:
      tau: temperature, a positive number in the units of `method`: scores times list size for NeuralSort, scores for
        the others. As it goes to 0 the soft ranks become exact, and tied scores have their mean rank. For lists of
        hundreds of items use `method="soft_sort"` or `"lapsum"`, or a tau that grows with the list size.
      method: a method with ranks, see `ops.soft_rank`. Projections have no gradient between scores that are further
        apart than tau, so choose it well above the distance of neighbors.
      power: exponent of the distance of scores for `"soft_sort"`, positive.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. The loss of a list is multiplied by the mean weight of its
    items. Lists with constant labels or fewer than two items give 0. The standard deviation of the soft ranks counts as
    at least a hundredth of that of the ranks 1 to n, so that equal scores have correlation 0 and a finite gradient that
    separates them. A label or score that is not finite makes the loss of its list NaN.

    Raises:
      ValueError: `tau` or `power` is not positive, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: that of `ops.soft_rank` per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[1.0, 2.0, 3.0, 4.0]]), tf.constant([[0.1, 0.4, 0.3, 0.9]])
    >>> round(float(ks.SpearmanLoss(tau=1.0)(labels, scores)), 4)
    0.3169
    >>> round(float(ks.SpearmanLoss(tau=0.001)(labels, scores)), 4)  # 1 - 0.8
    0.2
    >>> returns, predictions = tf.constant([[0.3], [-0.2], [0.1], [-0.4]]), tf.constant([[0.5], [0.2], [0.4], [0.1]])
    >>> round(float(ks.SpearmanLoss(tau=0.001, lists="batch", padding=None)(returns, predictions)), 4)
    0.0

    Source: C. Spearman, "The Proof and Measurement of Association between Two Things", American Journal of
    Psychology 15, 1904; as a loss on soft ranks: M. Blondel, O. Teboul, Q. Berthet, J. Djolonga, "Fast Differentiable
    Sorting and Ranking", ICML 2020.
    """

    def __init__(self, tau: float = 1.0, *, method: str = "neural_sort", power: float = 1.0, **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
