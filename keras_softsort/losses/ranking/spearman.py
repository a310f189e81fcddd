"""One minus Spearman's rank correlation, with soft ranks of the scores."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._list_loss import OperatorLoss
from keras_softsort.ops.ranking.spearman import spearman_loss


@export
class SpearmanLoss(OperatorLoss, operator=spearman_loss):
    """1 minus Spearman's rank correlation of labels and scores, from 0 (same order) to 2 (reversed).

    Use it to make predictions follow the order of continuous targets, whatever their scale: tabular models, scores per
    day or era. For a model of rows that ends in `Dense(1)`, pass `lists="batch"` to correlate over the batch. If your
    targets are centered around 0, as returns are, pass `padding=None` or `"nan_labels"`; otherwise negative targets are
    left out. See `ops.spearman_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau, method, power: as in `ops.soft_rank`. For lists of hundreds of items use `method="soft_sort"` or `"lapsum"`,
        or a larger tau.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> loss = ks.SpearmanLoss(tau=0.001, lists="batch", padding=None)
      >>> round(float(loss([0.3, -0.2, 0.1, -0.4], [0.5, 0.2, 0.4, 0.1])), 4)
      0.0
    """

    def __init__(self, tau: float = 1.0, *, method: str = "neural_sort", power: float = 1.0, **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
