"""Base classes of losses that are one function of `ops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort._targets.lists import Lists
from keras_softsort.losses._base import ListLoss, fresh_seed
from keras_softsort.losses._functions import written_function
from keras_softsort.losses._lambda_weight import serialized_lambda_weight


class OperatorLoss(ListLoss):
    """A loss of lists by `_operator(scores or logits, labels, mask=..., weights=..., **options)`.

    `_options` are names: of arguments of the constructor, of the attributes that hold them, and of arguments of
    `_operator`. The option `seed` is an integer or None, from which each call draws a seed of its own.
    """

    _operator: Callable[..., tf.Tensor]
    _options: tuple[str, ...] = ()
    _spread_nan = False  # the operator gives NaN for a list with any NaN

    def _operator_arguments(self) -> dict[str, Any]:
        """The options as `_operator` takes them."""
        values = {name: getattr(self, name) for name in self._options}
        return {**values, "seed": self._operator_seed(values["seed"])} if "seed" in values else values

    def _operator_seed(self, seed: int | None) -> tf.Tensor | None:
        """The seed of one call."""
        return fresh_seed(seed)

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list [batch]."""
        weights = lists.weights if lists.weighted else None
        return self._operator(y_pred, lists.labels, mask=lists.mask, weights=weights, **self._operator_arguments())

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        values = {name: getattr(self, name) for name in self._options}
        written = {name: written_function(serialized_lambda_weight(value)) for name, value in values.items()}
        return {**super().get_config(), **written}


class ScoreOperatorLoss(OperatorLoss):
    """An `OperatorLoss` of scores."""

    predicts = "scores"
