"""The base class of pairwise losses, which differ in what a pair costs."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort.losses._lambda_weight import checked_lambda_weight
from keras_softsort.losses._operator_loss import ScoreOperatorLoss
from keras_softsort.ops.ranking._lambda_weights import LambdaWeight
from keras_softsort.ops.ranking._lists import checked_normalization


class PairwiseLoss(ScoreOperatorLoss):
    """A pairwise loss that a temperature, a lambda weight and a normalization describe."""

    default_name = "pairwise"
    _options = ("tau", "lambda_weight", "normalization")

    def __init__(
        self,
        tau: float = 1.0,
        *,
        lambda_weight: str | LambdaWeight | None = None,
        normalization: str = "pairs",
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name or self.default_name, dtype=dtype)
        self.tau = arguments.positive_number("tau", tau)
        self.lambda_weight = checked_lambda_weight(lambda_weight)
        self.normalization = checked_normalization(normalization, "pairs")
