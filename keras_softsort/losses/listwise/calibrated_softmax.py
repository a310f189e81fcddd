"""The softmax cross-entropy with a virtual item of score 0, which anchors the scale of the scores."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.losses._lambda_weight import checked_lambda_weight
from keras_softsort.losses._operator_loss import ScoreOperatorLoss
from keras_softsort.ops.ranking._pairs.metric import LambdaWeight
from keras_softsort.ops.ranking.listwise._softmax import relevance_options
from keras_softsort.ops.ranking.listwise.calibrated_softmax import calibrated_softmax


@export
class CalibratedSoftmaxLoss(ScoreOperatorLoss):
    """Compute the softmax cross-entropy of each list and a virtual item of score 0.

    Use it if the scores themselves matter, not only their order. The softmax cross-entropy does not change when all
    scores are shifted; with the virtual item it does, which fixes the scale of the scores. By default a label below 0
    marks padding.

    With scores s, labels y and weights w (1 by default): `-sum_i w_i y_i log p_i - w y_0 log p_0`, where `p_i = exp(s_i
    / temperature) / (1 + sum_j exp(s_j / temperature))`. For the virtual item, `p_0 = 1 - sum_i p_i`, y_0 is its label,
    and its weight w is the mean weight of the list.

    Args:
      temperature: positive number, in units of the scores.
      virtual_label: the label of the virtual item, at least 0.
      lambda_weight: see `SoftmaxLoss`. The virtual item counts as an item of the list.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. In a list without a label above 0 only the term of the
    virtual item remains. Empty lists give 0. A score or label that is not finite, or a label below 0 that is not
    padding, makes the loss of its list NaN.

    TF-Ranking's `CalibratedSoftmaxLoss` has the same value except with padding, whose logits are -23 there, and with
    weights per item, where its virtual item has weight 1. See the documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `temperature` is not positive, `virtual_label` is negative, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n) time and memory per list; a sort with a lambda weight.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[1.0, 0.0]]), tf.constant([[0.6, 0.8]])
    >>> round(float(ks.CalibratedSoftmaxLoss(virtual_label=0.1)(labels, scores)), 4)
    1.1808

    Source: L. Yan, Z. Qin, X. Wang, M. Bendersky, M. Najork, "Scale Calibration of Deep Ranking Models", KDD 2022.
    """

    _operator = staticmethod(calibrated_softmax)
    _options = ("temperature", "virtual_label", "lambda_weight")

    def __init__(
        self,
        temperature: float = 1.0,
        *,
        virtual_label: float = 0.0,
        lambda_weight: str | LambdaWeight | None = None,
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "calibrated_softmax",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.temperature = arguments.positive_number("temperature", temperature)
        self.virtual_label = arguments.non_negative_number("virtual_label", virtual_label)
        self.lambda_weight = checked_lambda_weight(lambda_weight)
        relevance_options(self.lambda_weight)
