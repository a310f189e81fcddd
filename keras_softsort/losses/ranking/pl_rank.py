"""Minus the expected metric of Plackett-Luce orders, with the policy gradient of PL-Rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._list_loss import OperatorLoss
from keras_softsort.ops.ranking.pl_rank import pl_rank_loss


@export
class PLRankLoss(OperatorLoss, operator=pl_rank_loss):
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
