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
    the farther they are.

    The formula, edge cases, errors, cost and source are those of `ops.circle_loss`.

    Args:
      tau: temperature, a positive number; see `ListLoss`. The paper's gamma is 1 / tau.
      margin: the margin m, at least 0 and below 1.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[1.0, 0.0, 0.0]]), tf.constant([[0.9, 0.3, 0.6]])
    >>> round(float(ks.CircleLoss()(labels, scores)), 4)
    15.68
    """

    _depends_on_offset = True

    def __init__(self, tau: float = 1 / 64, *, margin: float = 0.25, **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
