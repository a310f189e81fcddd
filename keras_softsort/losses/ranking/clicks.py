"""Models of clicks: examination and relevance, by expectation maximization and by dual learning; mixtures."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._score_loss import OperatorLoss
from keras_softsort.ops.ranking.clicks import click_em_loss, dual_learning_loss, mixture_em_loss


@export
class ClickEMLoss(OperatorLoss, operator=click_em_loss):
    """Compute the expectation-maximization loss of clicks as examination times relevance.

    Use it to learn relevance from clicks that depend on the position of an item, too. By default a label below 0 marks
    padding.

    Each item has two logits, for being examined and for being relevant. In this model a user clicks an item that is
    both. The posterior probabilities of examination and relevance, given the clicks, are computed from the logits,
    without gradient; they are 1 for a clicked item. The loss of an item is the weighted sum of the binary
    cross-entropies of the two logits with these probabilities as targets.

    Args:
      exam_loss_weight: weight of the cross-entropy of examination, at least 0.
      rel_loss_weight: weight of the cross-entropy of relevance, at least 0.
      normalization: divisor of the sum over items. `"list"`: the number of valid items. `"none"`: 1.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_pred` holds logits `[batch, n, 2]`, or `[batch, 2]` with `lists="batch"`, dense or ragged: first of examination,
    then of relevance. `y_true` holds clicks, 1 or more for a clicked item. For its shape, masks and weights see
    `ListLoss`. Empty lists give 0. A logit or label that is not finite makes the loss of its list NaN.

    TF-Ranking's `ClickEMLoss` is the mean over all `batch * n` items, padding included. See the documentation, "Coming
    from TF-Ranking: losses".

    Raises:
      ValueError: a weight is negative, `normalization` is unknown, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, logits = tf.constant([[1.0, 0.0]]), tf.constant([[[0.6, 0.9], [0.8, 0.2]]])
    >>> round(float(ks.ClickEMLoss()(labels, logits)), 4)
    1.1463

    Source: X. Wang, N. Golbandi, M. Bendersky, D. Metzler, M. Najork, "Position Bias Estimation for Unbiased Learning
    to Rank in Personal Search", WSDM 2018.
    """

    predicts = "logits"

    _depends_on_offset = True

    def __init__(
        self,
        *,
        exam_loss_weight: float = 1.0,
        rel_loss_weight: float = 1.0,
        normalization: str = "list",
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class DualLearningLoss(OperatorLoss, operator=dual_learning_loss):
    """Compute the loss of dual learning from clicks: relevance and examination, each debiased by the other.

    Use it like `ClickEMLoss`, to learn relevance from clicks that depend on the position of an item, too. By default a
    label below 0 marks padding.

    Each item has two logits, e for being examined and r for being relevant. With clicks c and weights w (1 by default)
    the loss is `-sum_i w_i c_i (u_i log softmax(r)_i + v_i log softmax(e)_i)`, where `u_i = min(exp(e_1 - e_i),
    max_weight)` and `v_i = min(exp(r_1 - r_i), max_weight)` have no gradient. Item 1 is the first valid item of the
    list.

    Args:
      max_weight: largest value of u and v, at least 1.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_pred` holds logits `[batch, n, 2]`, or `[batch, 2]` with `lists="batch"`, dense or ragged: first of examination,
    then of relevance. `y_true` holds clicks, at least 0. For its shape, masks and weights see `ListLoss`. Lists without
    a click, and empty lists, give 0. A logit or label that is not finite makes the loss of its list NaN.

    The logits of examination must not depend on the item, nor those of relevance on its position: give each a tower of
    its own. An optimizer with one rate moves the few logits of positions too little, so let that tower be 10 times a
    variable.

    Raises:
      ValueError: `max_weight` is below 1, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, logits = tf.constant([[0.0, 1.0]]), tf.constant([[[0.6, 0.9], [0.2, 0.4]]])
    >>> round(float(ks.DualLearningLoss()(labels, logits)), 4)
    2.9585

    Source: Q. Ai, K. Bi, C. Luo, J. Guo, W. B. Croft, "Unbiased Learning to Rank with Unbiased Propensity Estimation",
    SIGIR 2018.
    """

    predicts = "logits"

    _depends_on_offset = True

    def __init__(self, *, max_weight: float = 20.0, **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)


@export
class MixtureEMLoss(OperatorLoss, operator=mixture_em_loss):
    """Compute the expectation-maximization loss of a mixture of click models.

    Use it for clicks of several kinds of users: each list trains mainly the models that explain its clicks best. By
    default a label below 0 marks padding.

    Each item has m logits: the log-odds of a click according to m models. With c_im the binary cross-entropy of the
    click of item i under model m, the list has the responsibilities `p_m = softmax_m(-alpha sum_i c_im)`, which have no
    gradient. The loss of the list is `sum_m p_m sum_i w_i c_im`, with weights w (1 by default).

    Args:
      alpha: at least 0. The larger it is, the more a list trains only the model that fits it best; 0 trains all
        equally.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_pred` holds logits `[batch, n, m]`, as a `Dense(m)` per item gives them, or `[batch, m]` with `lists="batch"`,
    dense or ragged. `y_true` holds clicks, from 0 to 1. For its shape, masks and weights see `ListLoss`. Lists without
    a click, and empty lists, give 0. A logit or label that is not finite makes the loss of its list NaN.

    TF-Ranking's `MixtureEMLoss` has the same value. Its `tau` has no effect. See the documentation, "Coming
    from TF-Ranking: losses".

    Raises:
      ValueError: `alpha` is negative, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n m) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, logits = tf.constant([[1.0, 0.0]]), tf.constant([[[0.6, 0.9], [0.8, 0.2]]])
    >>> round(float(ks.MixtureEMLoss()(labels, logits)), 4)
    1.3199

    Source: L. Yan, Z. Qin, H. Zhuang, X. Wang, M. Bendersky, M. Najork, "Revisiting Two-tower Models for Unbiased
    Learning to Rank", SIGIR 2022.
    """

    predicts = "logits"

    _depends_on_offset = True

    def __init__(self, *, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
