"""The base class of losses of several logits per item."""

from __future__ import annotations

from keras_softsort.losses._operator_loss import OperatorLoss


class ItemLogitsLoss(OperatorLoss):
    """An `OperatorLoss` of logits `[batch, n, m]`. It gives NaN for a list with a NaN logit or label."""

    predicts = "logits"
