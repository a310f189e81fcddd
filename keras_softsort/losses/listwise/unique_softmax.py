"""The softmax of each item against only the less relevant ones."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.losses._operator_loss import ScoreOperatorLoss
from keras_softsort.ops.ranking.listwise.unique_softmax import unique_softmax


@export
class UniqueSoftmaxLoss(ScoreOperatorLoss):
    """Compute the softmax cross-entropy of each item against the less relevant ones.

    Use it for graded relevance if items with equal labels should not compete. By default a label below 0 marks padding.

    With scores s, labels y and weights w (1 by default): `-sum_i w_i (2^y_i - 1) log(exp(s_i) / (exp(s_i) + sum_{j: y_j
    < y_i} exp(s_j)))`, with s divided by the temperature.

    Args:
      temperature: positive number, in units of the scores.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Lists without a label above 0, and empty lists, give 0. A
    score or label that is not finite, or a label below 0 that is not padding, makes the loss of its list NaN.

    TF-Ranking's `UniqueSoftmaxLoss` has the same value. See the documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `temperature` is not positive, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: that of `ops.unique_softmax`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[1.0, 0.0]]), tf.constant([[0.6, 0.8]])
    >>> round(float(ks.UniqueSoftmaxLoss()(labels, scores)), 4)
    0.7981

    Source: X. Zhu, D. Klabjan, "Listwise Learning to Rank by Exploring Unique Ratings", WSDM 2020.
    """

    _operator = staticmethod(unique_softmax)
    _options = ("temperature",)

    def __init__(
        self,
        temperature: float = 1.0,
        *,
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "unique_softmax",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.temperature = arguments.positive_number("temperature", temperature)
