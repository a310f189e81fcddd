"""Losses of each item on its own."""

from __future__ import annotations

from typing import Any

from keras_softsort import ops
from keras_softsort._internal.export import export
from keras_softsort.losses._list_loss import OperatorLoss


@export
class MeanSquaredLoss(OperatorLoss, operator=ops.mean_squared_loss):
    """Compute the mean squared error of each list's scores.

    Use it for regression of the labels with masks and weights of lists. Negative labels are padding, except with
    `padding=None` or `"nan_labels"`. See `ops.mean_squared_loss` for the formula, edge cases, errors, cost and source.

    Args:
      normalization: as in `ops.mean_squared_loss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.MeanSquaredLoss()([[1.0, 0.0]], [[0.6, 0.8]])), 4)
      0.4
    """

    _depends_on_offset = True

    def __init__(self, *, normalization: str = "list", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)


@export
class SigmoidCrossEntropyLoss(OperatorLoss, operator=ops.sigmoid_cross_entropy_loss):
    """Compute the mean binary cross-entropy of each list's items.

    Use it if the probabilities of clicks matter, not only the order. The scores are logits. See
    `ops.sigmoid_cross_entropy_loss` for the formula, edge cases, errors, cost and source.

    Args:
      normalization: as in `ops.mean_squared_loss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.SigmoidCrossEntropyLoss()([[1.0, 0.0]], [[0.6, 0.8]])), 4)
      0.8043
    """

    _depends_on_offset = True

    def __init__(self, *, normalization: str = "list", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)


@export
class OrdinalLoss(OperatorLoss, operator=ops.ordinal_loss):
    """Compute the binary cross-entropy of each level of an ordinal label.

    Use it for labels of a few grades, whose steps need not be equal. `y_pred` has m logits per item, as a `Dense(m)`
    per item gives them. See `ops.ordinal_loss` for their meaning, ranking by them, edge cases, errors, cost and source.

    Args:
      use_fraction_label, normalization: as in `ops.ordinal_loss`.
      **kwargs: `lists`, `padding`, `reduction`, `name` and `dtype`; see `ListLoss`.

    Example:
      >>> round(float(ks.OrdinalLoss()([[1.0, 0.0]], [[[0.6, 0.2], [0.8, 0.3]]])), 4)
      1.6305
    """

    predicts = "logits"

    def __init__(self, *, use_fraction_label: bool = False, normalization: str = "list", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
