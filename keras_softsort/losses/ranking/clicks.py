"""Models of clicks: examination and relevance, by expectation maximization and by dual learning; mixtures."""

from __future__ import annotations

from typing import Any

from keras_softsort import ops
from keras_softsort._internal.export import export
from keras_softsort.losses._list_loss import OperatorLoss


@export
class ClickEMLoss(OperatorLoss, operator=ops.click_em_loss):
    """Compute the expectation-maximization loss of clicks as examination times relevance.

    Use it to learn relevance from clicks that also depend on the position of an item. `y_pred` has two logits per item,
    first of examination, then of relevance. `y_true` holds clicks, 1 or more for a clicked item. See
    `ops.click_em_loss` for the formula, edge cases, errors, cost and source.

    Args:
      exam_loss_weight, rel_loss_weight, normalization: as in `ops.click_em_loss`.
      **kwargs: `lists`, `padding`, `reduction`, `name` and `dtype`; see `ListLoss`.

    Example:
      >>> round(float(ks.ClickEMLoss()([[1.0, 0.0]], [[[0.6, 0.9], [0.8, 0.2]]])), 4)
      1.1463
    """

    predicts = "logits"

    _depends_on_offset = True

    def __init__(
        self,
        *,
        exam_loss_weight: float = 1.0,
        rel_loss_weight: float = 1.0,
        normalization: str = "list",
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class DualLearningLoss(OperatorLoss, operator=ops.dual_learning_loss):
    """Compute the loss of dual learning from clicks: relevance and examination, each debiased by the other.

    Use it as `ClickEMLoss`, with the same logits and clicks of at least 0. The logits of examination must not depend on
    the item, nor those of relevance on its position: give each a tower of its own. With one learning rate for both, the
    few logits of positions change too slowly, so multiply the variable that holds them by 10. See
    `ops.dual_learning_loss` for the formula, edge cases, errors, cost and source.

    Args:
      max_weight: largest weight of a click, at least 1.
      **kwargs: `lists`, `padding`, `reduction`, `name` and `dtype`; see `ListLoss`.

    Example:
      >>> round(float(ks.DualLearningLoss()([[0.0, 1.0]], [[[0.6, 0.9], [0.2, 0.4]]])), 4)
      2.9585
    """

    predicts = "logits"

    _depends_on_offset = True

    def __init__(self, *, max_weight: float = 20.0, **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)


@export
class MixtureEMLoss(OperatorLoss, operator=ops.mixture_em_loss):
    """Compute the expectation-maximization loss of a mixture of click models.

    Use it for clicks of several kinds of users: each list trains mainly the models that explain its clicks best.
    `y_pred` has one logit per item and model. `y_true` holds clicks, from 0 to 1. See `ops.mixture_em_loss` for the
    formula, edge cases, errors, cost and source.

    Args:
      alpha: as in `ops.mixture_em_loss`.
      **kwargs: `lists`, `padding`, `reduction`, `name` and `dtype`; see `ListLoss`.

    Example:
      >>> round(float(ks.MixtureEMLoss()([[1.0, 0.0]], [[[0.6, 0.9], [0.8, 0.2]]])), 4)
      1.3199
    """

    predicts = "logits"

    _depends_on_offset = True

    def __init__(self, *, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
