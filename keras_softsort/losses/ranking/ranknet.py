"""RankNet and LambdaRank: the logistic loss of the pairs of a list."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._lambda_weight import LambdaWeight
from keras_softsort.losses._list_loss import OperatorLoss
from keras_softsort.ops.ranking.ranknet import ranknet_derivatives, ranknet_loss


@export
class RankNetLoss(OperatorLoss, operator=ranknet_loss, derivatives=ranknet_derivatives):
    """The logistic loss of all pairs of items with different labels: RankNet, LambdaRank and LambdaLoss.

    Use `RankNetLoss()` for preferences between items, and `RankNetLoss(lambda_weight="ndcg")`, which is LambdaRank, to
    compare with LightGBM's LambdaMART. For graded relevance start with `UniqueSoftmaxLoss` or `ApproxRankMSELoss`. See
    `ops.ranknet_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau, lambda_weight, ties, normalization: as in `ops.ranknet_loss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> weight = ks.losses.LambdaWeight("ndcg", k=10)
      >>> round(float(ks.RankNetLoss(lambda_weight=weight)([[2, 0, 1]], [[0.5, 0.2, 0.9]])), 4)
      0.3011
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        lambda_weight: str | LambdaWeight | None = None,
        ties: str = "ignore",
        normalization: str = "auto",
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)
