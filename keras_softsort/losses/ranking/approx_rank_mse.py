"""The mean squared error of smooth ranks."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._score_loss import OperatorLoss
from keras_softsort.ops.ranking.approx_rank_mse import approx_rank_mse_loss


@export
class ApproxRankMSELoss(OperatorLoss, operator=approx_rank_mse_loss):
    """The discounted mean squared error of smooth ranks: ADR-MSE.

    Start with it for graded relevance. It also distills an order, such as that of a large language model, into a small
    reranker. Only the order of the labels counts.

    The formula, edge cases, errors, cost and source are those of `ops.approx_rank_mse_loss`.

    Args:
      tau: temperature in units of the scores; see `ListLoss`.
      discount: weight of an item with rank r: `"log2"`, 1 / log2(1 + r), `"reciprocal"`, 1 / r, or None, 1.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[0.3, 0.9, 0.4]])
    >>> round(float(ks.ApproxRankMSELoss()(labels, scores)), 4)
    0.7268
    """

    def __init__(self, tau: float = 1.0, *, discount: str | None = "log2", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
