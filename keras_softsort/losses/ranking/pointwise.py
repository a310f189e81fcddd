"""Losses of each item on its own."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._score_loss import OperatorLoss
from keras_softsort.ops.ranking.pointwise import mean_squared_loss, ordinal_loss, sigmoid_cross_entropy_loss


@export
class MeanSquaredLoss(OperatorLoss, operator=mean_squared_loss):
    """Compute the mean squared error of each list's scores.

    This is plain regression of the labels, with the masks and weights of a ranking loss. By default a label below 0
    marks padding.

    With scores s, labels y and weights w (1 by default) an item costs `w_i (s_i - y_i)^2`.

    Args:
      normalization: divisor of the sum over items. `"list"`: the number of valid items. `"none"`: 1.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Empty lists give 0. A score or label that is not finite makes
    the loss of its list NaN.

    TF-Ranking's `MeanSquaredLoss` is the mean over all `batch * n` items, padding included. See the documentation,
    "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `normalization` is unknown, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[1.0, 0.0]]), tf.constant([[0.6, 0.8]])
    >>> round(float(ks.MeanSquaredLoss()(labels, scores)), 4)
    0.4

    Source: least squares; for ranking D. Cossock, T. Zhang, "Subset Ranking Using Regression", COLT 2006.
    """

    _depends_on_offset = True

    def __init__(self, *, normalization: str = "list", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)


@export
class SigmoidCrossEntropyLoss(OperatorLoss, operator=sigmoid_cross_entropy_loss):
    """Compute the mean binary cross-entropy of each list's items.

    Use it if the probabilities of clicks matter, not only the order. By default a label below 0 marks padding.

    With logits s, labels y and weights w (1 by default) an item costs `-w_i (y_i log p_i + (1 - y_i) log(1 - p_i))`
    with `p_i = 1 / (1 + exp(-s_i))`.

    Args:
      normalization: divisor of the sum over items. `"list"`: the number of valid items. `"none"`: 1.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Empty lists give 0. A score or label that is not finite makes
    the loss of its list NaN.

    TF-Ranking's `SigmoidCrossEntropyLoss` is the mean over all `batch * n` items, padding included. See the
    documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `normalization` is unknown, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[1.0, 0.0]]), tf.constant([[0.6, 0.8]])
    >>> round(float(ks.SigmoidCrossEntropyLoss()(labels, scores)), 4)
    0.8043

    Source: the negative log-likelihood of independent Bernoulli variables; for ranking W. Cooper, F. Gey, D. Dabney,
    "Probabilistic Retrieval Based on Staged Logistic Regression", SIGIR 1992.
    """

    _depends_on_offset = True

    def __init__(self, *, normalization: str = "list", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)


@export
class OrdinalLoss(OperatorLoss, operator=ordinal_loss):
    """Compute the binary cross-entropy of each level of an ordinal label.

    Use it for labels of a few grades, whose steps need not be equal. By default a label below 0 marks padding.

    Each item has m logits, and logit l is that of the label being at least l, for the levels l = 1, ..., m. The loss of
    an item is the sum over levels of the binary cross-entropy of logit l with the target 1 if `y_i >= l`, else 0, times
    the weight of the item. To rank by such a model, score an item by the sum of its m sigmoids, the expected label.

    Args:
      use_fraction_label: whether a label between two levels has a fractional target for the upper one. The label 1.2
        then has the targets 1 and 0.2, otherwise 1 and 0.
      normalization: divisor of the sum over items. `"list"`: the number of valid items. `"none"`: 1.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_pred` holds logits `[batch, n, m]`, as a `Dense(m)` per item gives them, or `[batch, m]` with `lists="batch"`,
    dense or ragged. `y_true`, masks and weights: see `ListLoss`. Empty lists give 0. A logit or label that is not
    finite makes the loss of its list NaN.

    TF-Ranking's `OrdinalLoss` is the mean over all `batch * n` items, padding included. See the documentation, "Coming
    from TF-Ranking: losses". Its `ordinal_size` is the last axis of the logits.

    Raises:
      ValueError: `normalization` is unknown, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n m) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, logits = tf.constant([[1.0, 0.0]]), tf.constant([[[0.6, 0.2], [0.8, 0.3]]])
    >>> round(float(ks.OrdinalLoss()(labels, logits)), 4)
    1.6305

    Source: Z. Niu, M. Zhou, L. Wang, X. Gao, G. Hua, "Ordinal Regression with Multiple Output CNN for Age Estimation",
    CVPR 2016; P. Pobrotyn, T. Bartczak, M. Synowiec, R. Bialobrzeski, J. Bojar, "Context-Aware Learning to Rank with
    Self-Attention", SIGIR eCom 2020.
    """

    predicts = "logits"

    def __init__(self, *, use_fraction_label: bool = False, normalization: str = "list", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
