"""Minus NDCG or the reciprocal rank: by smooth ranks, by softly sorted gains, or of sampled orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras_softsort import ops
from keras_softsort._internal.export import export
from keras_softsort.losses._list_loss import OperatorLoss


@export
class ApproxNDCGLoss(OperatorLoss, operator=ops.approx_ndcg_loss):
    """Minus the NDCG with smooth ranks (ApproxNDCG), from -1 (the best order) to 0.

    Use it to optimize NDCG directly on short and medium lists with graded relevance. It is fast and deterministic. See
    `ops.approx_ndcg_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau, k, gain, discount, normalization: as in `ops.approx_ndcg_loss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.ApproxNDCGLoss(tau=0.1)([[0.0, 2.0, 1.0]], [[0.3, 0.9, 0.4]])), 4)
      -0.9823
    """

    def __init__(
        self,
        tau: float = 0.1,
        *,
        k: int | None = None,
        gain: str = "exponential",
        discount: str = "log2",
        normalization: str = "ideal",
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class GumbelApproxNDCGLoss(OperatorLoss, operator=ops.gumbel_approx_ndcg_loss):
    """Compute the mean of ApproxNDCG over samples of the scores with Gumbel noise.

    Use it if training with `ApproxNDCGLoss` gets stuck: the noise lets it leave an order. See
    `ops.gumbel_approx_ndcg_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau, k, gain, discount, normalization, num_samples, noise_scale: as in `ops.gumbel_approx_ndcg_loss`.
      seed: integer or None; see `ListLoss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> -1 <= float(ks.GumbelApproxNDCGLoss(seed=1)([[2.0, 0.0, 1.0]], [[9.0, -9.0, 0.0]])) <= 0
      True
    """

    def __init__(
        self,
        tau: float = 0.1,
        *,
        k: int | None = None,
        gain: str = "exponential",
        discount: str = "log2",
        normalization: str = "ideal",
        num_samples: int = 8,
        noise_scale: float = 1.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class ApproxMRRLoss(OperatorLoss, operator=ops.approx_mrr_loss):
    """Compute minus the mean reciprocal of the smooth ranks of relevant items: ApproxMRR.

    Use it if one item per list is relevant and its rank counts. The loss is -1 if that item is first. See
    `ops.approx_mrr_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau: as in `ops.approx_mrr_loss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.ApproxMRRLoss()([[0.0, 0.0, 1.0]], [[0.3, 0.9, 0.4]])), 4)
      -0.442
    """

    def __init__(self, tau: float = 0.1, **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)


@export
class NeuralNDCGLoss(OperatorLoss, operator=ops.neural_ndcg_loss):
    """Minus the NDCG at k with softly sorted gains (NeuralNDCG, PiRank), from -1 (the best order) to 0.

    Use it to optimize NDCG by NeuralSort or SoftSort. `ApproxNDCGLoss` and `RankNetLoss(lambda_weight="ndcg")` are
    faster, without Sinkhorn's many passes over a matrix. `num_iterations=0, hard=True` is PiRank. See
    `ops.neural_ndcg_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau, k, gain, discount, normalization, method, power: as in `ops.neural_ndcg_loss`.
      num_iterations, hard, stochastic, num_samples, noise_scale: as in `ops.neural_ndcg_loss`.
      seed: integer or None, if `stochastic`; see `ListLoss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.NeuralNDCGLoss(tau=1.0)([[0.0, 2.0, 1.0]], [[0.4, 0.3, 0.9]])), 4)
      -0.7552
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        k: int | None = None,
        gain: str = "exponential",
        discount: str | Sequence[float] = "log2",
        normalization: str = "ideal",
        method: str = "neural_sort",
        power: float = 1.0,
        num_iterations: int = 50,
        hard: bool = False,
        stochastic: bool = False,
        num_samples: int = 8,
        noise_scale: float = 1.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class PLRankLoss(OperatorLoss, operator=ops.pl_rank_loss):
    """Minus the expected NDCG of an order drawn from the Plackett-Luce distribution, trained by PL-Rank.

    Use it for stochastic rankings: to learn a policy that samples orders, for exploration or fairness of exposure, or
    to optimize a metric without a relaxation. It is fast on long lists. The scores are logits. With
    `normalization="none"`, `discount=[1.0] * k` and `gain="linear"`, binary labels make it minus the expected number of
    relevant items among the first k. See `ops.pl_rank_loss` for the formula, edge cases, errors, cost and source.

    Args:
      k, gain, discount, normalization, num_samples: as in `ops.pl_rank_loss`.
      seed: integer or None; see `ListLoss`. Padding at the end of lists does not change the noise of the other items.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.PLRankLoss()([[2.0, 0.0, 1.0]], [[9.0, -9.0, 0.0]])), 2)  # nearly always the best order
      -1.0
    """

    _depends_on_offset = True  # the estimate of its gradient does, by chance

    def __init__(
        self,
        *,
        k: int | None = None,
        gain: str = "exponential",
        discount: str | Sequence[float] = "log2",
        normalization: str = "ideal",
        num_samples: int = 32,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)
