"""The cross-entropy of the labels and softmaxes of the scores."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._lambda_weight import LambdaWeight
from keras_softsort.losses._score_loss import OperatorLoss
from keras_softsort.ops.ranking.list_net import list_net_derivatives, list_net_loss
from keras_softsort.ops.ranking.softmax import (
    calibrated_softmax_loss,
    softmax_derivatives,
    softmax_loss,
    unique_softmax_loss,
)


@export
class SoftmaxLoss(OperatorLoss, operator=softmax_loss, derivatives=softmax_derivatives):
    """Compute the cross-entropy of the labels with the softmax of each list's scores, and PolyLoss.

    A fast and strong loss for clicks and other labels with few values above 0. With scores s, labels y and weights w
    (1 by default): `sum_i w_i y_i (poly_epsilon (1 - p_i) - log p_i)`, where
    `p_i = exp(s_i / tau) / sum_j exp(s_j / tau)`. The labels are not divided by their sum, so a list counts in
    proportion to its labels. `ListNetLoss` takes a softmax of the labels instead.

    Args:
      tau: temperature, a positive number in units of the scores.
      lambda_weight: None, `"ndcg"`, `"dcg"`, `"mrr"` or a `LambdaWeight` of one of these. It replaces each label by its
        gain times the discount of the item's rank in the current order of the scores. `"ndcg"` and `"mrr"` also divide
        by the ideal DCG. `k` only changes the ideal DCG, as in TF-Ranking.
      poly_epsilon: factor of the first term of PolyLoss, `1 - p_i`, which adds to the gradient of likely items. 0 is
        the cross-entropy.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Labels are at least 0. A list without a label above 0 gives
    0. A label or score that is not finite, or a label below 0 that is not padding, makes the loss of its list NaN.

    TF-Ranking's `SoftmaxLoss`, and its `poly_one_softmax_loss` with `poly_epsilon=1`, have the same values except with
    padding, whose logits are -23 there. See the documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `tau` is not positive, the lambda weight has no meaning for this loss, a name is unknown, or
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
    Learning-to-Rank with Binary Relevance", ICTIR 2019; Z. Leng, M. Tan, C. Liu, E. Cubuk, X. Shi, S. Cheng,
    D. Anguelov, "PolyLoss: A Polynomial Expansion Perspective of Classification Loss Functions", ICLR 2022.
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        lambda_weight: str | LambdaWeight | None = None,
        poly_epsilon: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class ListNetLoss(OperatorLoss, operator=list_net_loss, derivatives=list_net_derivatives):
    """Compute the cross-entropy of the softmax of the labels with the softmax of the scores: ListNet.

    Use it for graded relevance or other numbers if every list should count alike. With scores s, labels y and weights w
    (1 by default): `-sum_i w_i q_i log p_i`, where `p_i = exp(s_i / tau) / sum_j exp(s_j / tau)` and
    `q_i = exp(y_i / label_tau) / sum_j exp(y_j / label_tau)`.

    Args:
      tau: temperature, a positive number in units of the scores.
      label_tau: temperature of the labels, a positive number in their units. As it goes to 0, only the items with the
        highest label are targets.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. The least loss is the entropy of q, not 0. Tied labels have
    equal targets. Empty lists give 0. A score or label that is not finite makes the loss of its list NaN.

    `SoftmaxLoss` is what TF-Ranking, Keras-RS and Rax call ListNet or softmax loss: labels that are not normalized.

    Raises:
      ValueError: `tau` or `label_tau` is not positive, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[1.0, 0.0]]), tf.constant([[0.5, -0.5]])
    >>> round(float(ks.ListNetLoss()(labels, scores)), 4)
    0.5822

    Source: Z. Cao, T. Qin, T.-Y. Liu, M.-F. Tsai, H. Li, "Learning to Rank: From Pairwise Approach to Listwise
    Approach", ICML 2007.
    """

    def __init__(self, tau: float = 1.0, *, label_tau: float = 1.0, **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)


@export
class CalibratedSoftmaxLoss(OperatorLoss, operator=calibrated_softmax_loss):
    """Compute the softmax cross-entropy of each list and a virtual item of score 0.

    Use it if the scores themselves matter, not only their order. The softmax cross-entropy does not change when all
    scores are shifted; with the virtual item it does, which fixes the scale of the scores. By default a label below 0
    marks padding.

    With scores s, labels y and weights w (1 by default): `-sum_i w_i y_i log p_i - w y_0 log p_0`, where `p_i = exp(s_i
    / tau) / (1 + sum_j exp(s_j / tau))`. For the virtual item, `p_0 = 1 - sum_i p_i`, y_0 is its label,
    and its weight w is the mean weight of the list.

    Args:
      tau: temperature, a positive number in units of the scores.
      virtual_label: the label of the virtual item, at least 0.
      lambda_weight: see `SoftmaxLoss`. The virtual item counts as an item of the list.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. In a list without a label above 0 only the term of the
    virtual item remains. Empty lists give 0. A score or label that is not finite, or a label below 0 that is not
    padding, makes the loss of its list NaN.

    TF-Ranking's `CalibratedSoftmaxLoss` has the same value except with padding, whose logits are -23 there, and with
    weights per item, where its virtual item has weight 1. See the documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `tau` is not positive, `virtual_label` is negative, a name is unknown, or shapes do not match.
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

    _depends_on_offset = True

    def __init__(
        self,
        tau: float = 1.0,
        *,
        virtual_label: float = 0.0,
        lambda_weight: str | LambdaWeight | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class UniqueSoftmaxLoss(OperatorLoss, operator=unique_softmax_loss):
    """Compute the softmax cross-entropy of each item against the less relevant ones.

    Use it for graded relevance if items with equal labels should not compete. By default a label below 0 marks padding.

    With scores s, labels y and weights w (1 by default): `-sum_i w_i (2^y_i - 1) log(exp(s_i) / (exp(s_i) + sum_{j: y_j
    < y_i} exp(s_j)))`, with s divided by tau.

    Args:
      tau: temperature, a positive number in units of the scores.
      gain: factor of an item with label y: `"exponential"`, 2^y - 1, or `"linear"`, y. Labels such as positions or
        prices need `"linear"`: 2^y is not finite from 128 on in float32.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Lists without a label above 0, and empty lists, give 0. A
    score or label that is not finite, or a label below 0 that is not padding, makes the loss of its list NaN.

    TF-Ranking's `UniqueSoftmaxLoss` has the same value. See the documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `tau` is not positive, a name is unknown, or shapes do not match.
      InvalidArgumentError: labels are too large for exponential gains. It is not checked under XLA.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: that of `ops.unique_softmax_loss`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[1.0, 0.0]]), tf.constant([[0.6, 0.8]])
    >>> round(float(ks.UniqueSoftmaxLoss()(labels, scores)), 4)
    0.7981

    Source: X. Zhu, D. Klabjan, "Listwise Learning to Rank by Exploring Unique Ratings", WSDM 2020.
    """

    def __init__(self, tau: float = 1.0, *, gain: str = "exponential", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
