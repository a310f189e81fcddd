"""The base class of pairwise losses, which differ in what a pair costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.losses._lambda_weight import checked_lambda_weight, serialized_lambda_weight
from keras_softsort.losses._score_loss import ScoreLoss
from keras_softsort.ops.ranking._pairs.arguments import NORMALIZATIONS
from keras_softsort.ops.ranking._pairs.metric import LambdaWeight


class PairwiseLoss(ScoreLoss):
    """Options of a pairwise loss, which is `function` of scores and labels."""

    default_name = "pairwise"
    function: Callable[..., tf.Tensor]

    def __init__(
        self,
        temperature: float = 1.0,
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
        self.temperature = arguments.positive_number("temperature", temperature)
        self.lambda_weight = checked_lambda_weight(lambda_weight)
        self.normalization = arguments.one_of("normalization", normalization, NORMALIZATIONS)

    def score_losses(self, scores: tf.Tensor, labels: tf.Tensor, *, mask: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """The loss of each list: [batch]."""
        return self.function(
            scores,
            labels,
            temperature=self.temperature,
            lambda_weight=self.lambda_weight,
            normalization=self.normalization,
            mask=mask,
            weights=weights,
        )

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            **super().get_config(),
            "temperature": self.temperature,
            "lambda_weight": serialized_lambda_weight(self.lambda_weight),
            "normalization": self.normalization,
        }
