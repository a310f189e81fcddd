"""The mean squared error of smooth ranks."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._score_loss import OperatorLoss
from keras_softsort.ops.ranking.approx_rank_mse import approx_rank_mse_loss


@export
class ApproxRankMSELoss(OperatorLoss, operator=approx_rank_mse_loss):
    """The discounted mean squared error of smooth ranks: ADR-MSE.

    Use it to distill an order, such as that of a large language model, into a small reranker. By default a label below
    0 marks padding.

    With ranks r of the labels, 1 for the largest, and weights w (1 by default): `mean(w_i D(r_i) (r_i - rank_i)^2)`
    with `rank_i = 1 + sum_{j != i} sigmoid((s_j - s_i) / tau)`. Tied labels have the mean of their ranks.

    Args:
      tau: temperature, a positive number in units of the scores.
      discount: D: `"log2"`, 1 / log2(1 + r), `"reciprocal"`, 1 / r, or None, 1.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Only the order of the labels counts. Empty lists give 0. A
    score or label that is not finite makes the loss of its list NaN.

    Raises:
      ValueError: `tau` is not positive, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: that of `ops.approx_ndcg_loss`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[0.3, 0.9, 0.4]])
    >>> round(float(ks.ApproxRankMSELoss()(labels, scores)), 4)
    0.7268

    Source: F. Schlatt, M. Frobe, H. Scells, S. Zhuang, B. Koopman, G. Zuccon, B. Stein, M. Potthast, M. Hagen,
    "Rank-DistiLLM: Closing the Effectiveness Gap Between Cross-Encoders and LLMs for Passage Re-Ranking", ECIR 2025.
    """

    def __init__(self, tau: float = 1.0, *, discount: str | None = "log2", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
