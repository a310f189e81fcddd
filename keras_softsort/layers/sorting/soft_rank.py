"""Soft ranks as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort.layers._base import SortingLayer
from keras_softsort.ops.sorting._methods import registry


@register
class SoftRankLayer(SortingLayer):
    """Soft ranks `[batch, n]` of scores `[batch, n]`, 1 = first: `P^T (1, ..., n)`, or those of a method without P.

    Args:
      tau: initial temperature of `method`, positive. It is the weight `layer.tau`; `TauSchedule` anneals it.
      method: a method with ranks, as in `ops.soft_rank`.
      power: positive exponent of the distance, for a method that has one (see `ops.soft_rank`).
      hard: exact ranks in the forward pass, gradient of the soft ones.
      direction: with `"DESCENDING"` rank 1 is the largest score, with `"ASCENDING"` the smallest.
      learn_tau: train the temperature, as its logarithm `layer.log_tau`.
      **kwargs: arguments of a Keras layer.

    Call arguments: scores `[batch, n]` or `[batch, n, 1]`, or a list of them and a temperature per example,
    `[batch]` or `[batch, 1]`; and an optional bool mask `[batch, n]` (True = keep), which is handed on. Masked
    items have rank 0. Ties have equal ranks, unless `hard`. Empty lists and scores that are not finite behave as in
    `ops.soft_rank`.

    Raises:
      ValueError: `tau` or `power` <= 0, a `power` other than 1 with a method that has none, a `method` without ranks,
        unknown `direction`, scores that are not `[batch, n]` or `[batch, n, 1]`.
      TypeError: integer scores.

    Cost: that of `ops.soft_rank` per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> ks.SoftRankLayer(tau=0.01)(tf.constant([[2.0, 5.0, 3.0]])).numpy().tolist()
    [[3.0, 1.0, 2.0]]

    Source: as for `ops.soft_rank`.
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        method: str = "neural_sort",
        power: float = 1.0,
        hard: bool = False,
        direction: str = "DESCENDING",
        learn_tau: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, learn_tau=learn_tau, **kwargs)
        self.method = registry.checked_method(method, "ranks")
        self.power = registry.checked_power(power, method)
        self.hard = arguments.boolean("hard", hard)
        self.direction = arguments.one_of("direction", direction, arguments.DIRECTIONS)

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """[batch, n] to [batch, n]."""
        scores, tau, mask = self.split_scores(inputs, mask)
        return ops.soft_rank(
            scores, tau, method=self.method, power=self.power, hard=self.hard, mask=mask, direction=self.direction
        )

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, ...]:
        """`[batch, n]`."""
        return self.scores_shape(input_shape)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"method": self.method, "power": self.power, "hard": self.hard, "direction": self.direction}
        return {**super().get_config(), **own}
