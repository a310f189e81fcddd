"""Minus the NDCG with softly sorted gains: NeuralNDCG and PiRank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._list_loss import OperatorLoss
from keras_softsort.ops.ranking.neural_ndcg import neural_ndcg_loss


@export
class NeuralNDCGLoss(OperatorLoss, operator=neural_ndcg_loss):
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
