"""Losses of the pairs of a list: RankNet, other costs, sampled neighbors, and the circle loss."""

from __future__ import annotations

from typing import Any

from keras_softsort import ops
from keras_softsort._internal.export import export
from keras_softsort.losses._lambda_weight import LambdaWeight
from keras_softsort.losses._list_loss import OperatorLoss


@export
class RankNetLoss(OperatorLoss, operator=ops.ranknet_loss):
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


class _PairwiseLoss(OperatorLoss):
    """A loss of pairs without options of its own."""

    def __init__(
        self,
        tau: float = 1.0,
        *,
        lambda_weight: str | LambdaWeight | None = None,
        normalization: str = "auto",
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class PairwiseHingeLoss(_PairwiseLoss, operator=ops.pairwise_hinge_loss):
    """Compute the hinge loss of the pairs of items with different labels.

    Use it for preferences if pairs that are in the right order by a margin should no longer change. The margin is
    `tau`. See `ops.pairwise_hinge_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau, lambda_weight, normalization: as in `ops.ranknet_loss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.PairwiseHingeLoss()([[2.0, 0.0, 1.0]], [[0.5, 0.2, 0.9]])), 4)
      0.8
    """


@export
class PairwiseMSELoss(_PairwiseLoss, operator=ops.pairwise_mse_loss):
    """Compute the squared error of the score differences of all pairs.

    Use it for numeric targets if only their differences within a list matter, and for distillation. Negative targets
    are padding unless you pass `padding=None` or `"nan_labels"`. See `ops.pairwise_mse_loss` for the formula, edge
    cases, errors, cost and source.

    Args:
      tau, lambda_weight, normalization: as in `ops.ranknet_loss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.PairwiseMSELoss()([[2.0, 0.0, 1.0]], [[0.5, 0.2, 0.9]])), 4)
      1.6467
    """


@export
class PairwiseSoftZeroOneLoss(_PairwiseLoss, operator=ops.pairwise_soft_zero_one_loss):
    """Compute the soft zero-one loss of the pairs of items with different labels.

    Use it for labels with errors, since a pair never costs more than 1. See `ops.pairwise_soft_zero_one_loss` for the
    formula, edge cases, errors, cost and source.

    Args:
      tau, lambda_weight, normalization: as in `ops.ranknet_loss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.PairwiseSoftZeroOneLoss()([[2.0, 0.0, 1.0]], [[0.5, 0.2, 0.9]])), 4)
      0.452
    """


@export
class YetiLogisticLoss(OperatorLoss, operator=ops.yeti_logistic_loss):
    """Compute the logistic loss of neighbors in orders sampled from the scores: YetiLoss.

    A strong loss in gradient boosting (CatBoost's YetiRank), here for networks. The noise helps training that gets
    stuck in a poor order. See `ops.yeti_logistic_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau, lambda_weight, normalization, num_samples, noise_scale: as in `ops.yeti_logistic_loss`.
      seed: integer or None; see `ListLoss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> float(ks.YetiLogisticLoss(seed=1)([[2.0, 0.0, 1.0]], [[9.0, -9.0, 0.0]])) < 1.5
      True
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        lambda_weight: str | LambdaWeight | None = None,
        normalization: str = "auto",
        num_samples: int = 8,
        noise_scale: float = 1.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class CircleLoss(OperatorLoss, operator=ops.circle_loss):
    """The circle loss of similarities, such as cosines of embeddings.

    Use it if scores are similarities in [0, 1]. Relevant items are pulled to 1 - `margin` and others to `margin`, the
    more strongly the farther they are. See `ops.circle_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau, margin: as in `ops.circle_loss`. The paper's gamma is 1 / tau.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.CircleLoss()([[1.0, 0.0, 0.0]], [[0.9, 0.3, 0.6]])), 4)
      15.68
    """

    _depends_on_offset = True

    def __init__(self, tau: float = 1 / 64, *, margin: float = 0.25, **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
