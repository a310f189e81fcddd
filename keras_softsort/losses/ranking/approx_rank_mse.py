"""The mean squared error of smooth ranks."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._list_loss import OperatorLoss
from keras_softsort.ops.ranking.approx_rank_mse import approx_rank_mse_loss


@export
class ApproxRankMSELoss(OperatorLoss, operator=approx_rank_mse_loss):
    """The discounted mean squared error of smooth ranks: ADR-MSE.

    Start with it for graded relevance. It also distills an order, such as a large language model's, into a reranker.
    See `ops.approx_rank_mse_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau, discount: as in `ops.approx_rank_mse_loss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.ApproxRankMSELoss()([[2.0, 0.0, 1.0]], [[0.3, 0.9, 0.4]])), 4)
      0.7268
    """

    def __init__(self, tau: float = 1.0, *, discount: str | None = "log2", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
