"""The circle loss of similarities."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._score_loss import OperatorLoss
from keras_softsort.ops.ranking.circle import circle_loss


@export
class CircleLoss(OperatorLoss, operator=circle_loss):
    """The circle loss of similarities, such as cosines of embeddings.

    Use it if scores are similarities in [0, 1]. Relevant items are pulled to 1 - m and others to m, the more strongly
    the farther they are. By default a label below 0 marks padding.

    With similarities s, a margin m and weights w (1 by default): `mean(w) log(1 + sum_{i, j: y_i > y_j}
    exp((a_i (1 - m - s_i) + b_j (s_j - m)) / tau))`, where `a_i = max(1 + m - s_i, 0)` and `b_j = max(s_j + m, 0)`
    have no gradient.

    Args:
      tau: temperature, a positive number. The paper's gamma is 1 / tau.
      margin: the margin m, at least 0 and below 1.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Scores outside of [0, 1] count as 0 or 1, and have no
    gradient. A list has the mean weight of its items. Lists without a pair of different labels, and empty lists, give
    0. A score or label that is not finite makes the loss of its list NaN.

    TF-Ranking's `circle_loss` with `gamma=1 / tau` has the same value.

    Raises:
      ValueError: `tau` is not positive, `margin` is out of range, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n^2) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[1.0, 0.0, 0.0]]), tf.constant([[0.9, 0.3, 0.6]])
    >>> round(float(ks.CircleLoss()(labels, scores)), 4)
    15.68

    Source: Y. Sun, C. Cheng, Y. Zhang, C. Zhang, L. Zheng, Z. Wang, Y. Wei, "Circle Loss: A Unified Perspective of Pair
    Similarity Optimization", CVPR 2020.
    """

    _depends_on_offset = True

    def __init__(self, tau: float = 1 / 64, *, margin: float = 0.25, **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
