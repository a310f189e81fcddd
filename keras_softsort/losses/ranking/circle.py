"""The circle loss of similarities."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._list_loss import OperatorLoss
from keras_softsort.ops.ranking.circle import circle_loss


@export
class CircleLoss(OperatorLoss, operator=circle_loss):
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
