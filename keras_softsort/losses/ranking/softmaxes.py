"""The cross-entropy of the labels and softmaxes of the scores."""

from __future__ import annotations

from typing import Any

from keras_softsort import ops
from keras_softsort._internal.export import export
from keras_softsort.losses._lambda_weight import LambdaWeight
from keras_softsort.losses._list_loss import OperatorLoss


@export
class SoftmaxLoss(OperatorLoss, operator=ops.softmax_loss):
    """Compute the cross-entropy of the labels with the softmax of each list's scores, and PolyLoss.

    A fast and strong loss for clicks and other labels with few values above 0. A list counts in proportion to the sum
    of its labels. `ListNetLoss` takes a softmax of the labels instead. See `ops.softmax_loss` for the formula, edge
    cases, errors, cost and source.

    Args:
      tau, lambda_weight, poly_epsilon: as in `ops.softmax_loss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.SoftmaxLoss()([[1.0, 0.0, 0.0]], [[1.0986123, 0.0, 1.3862944]])), 4)
      0.9808
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        lambda_weight: str | LambdaWeight | None = None,
        poly_epsilon: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class ListNetLoss(OperatorLoss, operator=ops.list_net_loss):
    """Compute the cross-entropy of the softmax of the labels with the softmax of the scores: ListNet.

    Use it for graded relevance or other numbers if every list should count alike. See `ops.list_net_loss` for the
    formula, edge cases, errors, cost and source.

    Args:
      tau, label_tau: as in `ops.list_net_loss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.ListNetLoss()([[1.0, 0.0]], [[0.5, -0.5]])), 4)
      0.5822
    """

    def __init__(self, tau: float = 1.0, *, label_tau: float = 1.0, **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)


@export
class CalibratedSoftmaxLoss(OperatorLoss, operator=ops.calibrated_softmax_loss):
    """Compute the softmax cross-entropy of each list and a virtual item of score 0.

    Use it if the scores themselves matter, not only their order. The softmax cross-entropy does not change when all
    scores are shifted; with the virtual item it does, which fixes the level of the scores. See
    `ops.calibrated_softmax_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau, virtual_label, lambda_weight: as in `ops.calibrated_softmax_loss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.CalibratedSoftmaxLoss(virtual_label=0.1)([[1.0, 0.0]], [[0.6, 0.8]])), 4)
      1.1808
    """

    _depends_on_offset = True

    def __init__(
        self,
        tau: float = 1.0,
        *,
        virtual_label: float = 0.0,
        lambda_weight: str | LambdaWeight | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class UniqueSoftmaxLoss(OperatorLoss, operator=ops.unique_softmax_loss):
    """Compute the softmax cross-entropy of each item against the less relevant ones.

    Use it for graded relevance if items with equal labels should not compete. See `ops.unique_softmax_loss` for the
    formula, edge cases, errors, cost and source.

    Args:
      tau, gain: as in `ops.unique_softmax_loss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.UniqueSoftmaxLoss()([[1.0, 0.0]], [[0.6, 0.8]])), 4)
      0.7981
    """

    def __init__(self, tau: float = 1.0, *, gain: str = "exponential", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
