"""The cross-entropy of the labels with the softmax of the scores: ListNet's top-one loss."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.losses._lambda_weight import checked_lambda_weight
from keras_softsort.losses._operator_loss import ScoreOperatorLoss
from keras_softsort.ops.ranking._pairs.metric import LambdaWeight
from keras_softsort.ops.ranking.listwise._softmax import relevance_options
from keras_softsort.ops.ranking.listwise.softmax_cross_entropy import softmax_cross_entropy


@export
class SoftmaxLoss(ScoreOperatorLoss):
    """Compute the cross-entropy of the labels with the softmax of each list's scores: ListNet.

    A fast and strong loss for clicks and other labels with few values above 0. With scores s, labels y and weights w
    (1 by default): `-sum_i w_i y_i log p_i`, where `p_i = exp(s_i / temperature) / sum_j exp(s_j / temperature)`. The
    labels are not divided by their sum, so a list counts in proportion to its labels.

    Args:
      temperature: positive number, in units of the scores.
      lambda_weight: None, `"ndcg"`, `"dcg"`, `"mrr"` or a `LambdaWeight` of one of these. It replaces each label by its
        gain times the discount of the item's rank in the current order of the scores. `"ndcg"` and `"mrr"` also divide
        by the ideal DCG. `k` only changes the ideal DCG, as in TF-Ranking.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Labels are at least 0. A list without a label above 0 gives
    0. A label or score that is not finite, or a label below 0 that is not padding, makes the loss of its list NaN.

    TF-Ranking's `SoftmaxLoss` has the same value except with padding, whose logits are -23 there. See the
    documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `temperature` is not positive, the lambda weight has no meaning for this loss, a name is unknown, or
        shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n) time and memory per list; a sort with a lambda weight.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[1.0, 0.0, 0.0]]), tf.constant([[1.0986123, 0.0, 1.3862944]])
    >>> round(float(ks.SoftmaxLoss()(labels, scores)), 4)
    0.9808

    Source: Z. Cao, T. Qin, T.-Y. Liu, M.-F. Tsai, H. Li, "Learning to Rank: From Pairwise Approach to Listwise
    Approach", ICML 2007; S. Bruch, X. Wang, M. Bendersky, M. Najork, "An Analysis of the Softmax Cross Entropy Loss for
    Learning-to-Rank with Binary Relevance", ICTIR 2019.
    """

    _operator = staticmethod(softmax_cross_entropy)
    _options = ("temperature", "lambda_weight")

    def __init__(
        self,
        temperature: float = 1.0,
        *,
        lambda_weight: str | LambdaWeight | None = None,
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "softmax",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.temperature = arguments.positive_number("temperature", temperature)
        self.lambda_weight = checked_lambda_weight(lambda_weight)
        relevance_options(self.lambda_weight)
