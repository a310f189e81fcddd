"""Soft quantiles as a Keras layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal.keras_compat import register
from keras_softsort.layers._base import SortingLayer
from keras_softsort.ops.sorting._methods import registry
from keras_softsort.ops.sorting.soft_quantile import checked_quantiles


@register
class SoftQuantileLayer(SortingLayer):
    """Soft quantiles `[batch, len(q)]` of scores `[batch, n]`; `q=0.5` is the median.

    Args:
      q: a number in [0, 1] or a sequence of them; a number gives `[batch, 1]`.
      tau: initial temperature of `method`, positive. It is the weight `layer.tau`; `TauSchedule` anneals it.
      method: a method with a permutation, as in `ops.soft_quantile`.
      power: positive exponent of the distance, for a method that has one (see `ops.soft_quantile`).
      learn_tau: train the temperature, as its logarithm `layer.log_tau`.
      **kwargs: arguments of a Keras layer.

    Call arguments: scores `[batch, n]` or `[batch, n, 1]`, or a list of them and a temperature per example,
    `[batch]` or `[batch, 1]`; and an optional bool mask `[batch, n]` (True = keep). No mask is handed on, since the
    lists end here. A fully masked or empty list gives 0. Ties share evenly. Scores that are not finite give NaN in
    their list.

    Raises:
      ValueError: `q` outside [0, 1], `tau` or `power` <= 0, a `power` other than 1 with a method that has none, a
        `method` without a permutation, scores that are not `[batch, n]` or `[batch, n, 1]`.
      TypeError: integer scores, `q` that is no number.

    Cost: O(len(q) n + n log n) time and O(len(q) n) memory a list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> ks.SoftQuantileLayer(q=0.5, tau=0.01)(tf.constant([[2.0, 5.0, 3.0]])).numpy().tolist()
    [[3.0]]

    Source: as for `ops.soft_quantile`.
    """

    def __init__(
        self,
        q: Any,
        tau: float = 1.0,
        *,
        method: str = "neural_sort",
        power: float = 1.0,
        learn_tau: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, learn_tau=learn_tau, **kwargs)
        self.q = np.atleast_1d(checked_quantiles(q)).tolist()
        self.method = registry.checked_method(method)
        self.power = registry.checked_power(power, method)

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """[batch, n] to [batch, len(q)]."""
        scores, tau, mask = self.split_scores(inputs, mask)
        return ops.soft_quantile(scores, self.q, tau, method=self.method, power=self.power, mask=mask)

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, ...]:
        """`[batch, len(q)]`."""
        return self.scores_shape(input_shape)[0], len(self.q)

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """None: quantiles are not items, so no mask applies."""
        return None

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "q": self.q, "method": self.method, "power": self.power}
