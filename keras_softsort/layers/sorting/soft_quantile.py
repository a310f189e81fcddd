"""Soft quantiles as a Keras layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal.export import export
from keras_softsort._internal.keras_compat import layer_shape
from keras_softsort.layers._base import SortingLayer
from keras_softsort.ops.sorting import _methods
from keras_softsort.ops.sorting.soft_quantile import checked_quantiles


@export
class SoftQuantileLayer(SortingLayer):
    """Compute soft quantiles of each list of scores, such as the soft median for `q=0.5`.

    Args:
      q: the quantile, a number in [0, 1], or a sequence of them. A number counts as a sequence of one.
      tau: initial temperature, positive, in the units of `method`, see `ops.soft_quantile`. See `TemperatureLayer` for
        `layer.tau`, `learn_tau` and a temperature per list.
      method: a method with a permutation matrix, see `ops.soft_quantile`.
      power: exponent of the distance of scores, positive, for a method that has one, see `ops.soft_quantile`.
      scale: `"std"` divides the scores by their standard deviation per list, see the operator. None does not.
      **kwargs: `learn_tau` (see `TemperatureLayer`) and the arguments of `keras.layers.Layer`.

    Input: scores `[batch, n]` or `[batch, n, 1]`. A temperature `[batch]` or `[batch, 1]` per list may follow
    (`layer([scores, tau])`). The mask, bool `[batch, n]` and True for valid items, comes from Keras or the caller.

    Output: `[batch, len(q)]`, without a Keras mask. A list without valid items gives 0. Tied items share their ranks
    evenly. A score that is not finite makes the quantiles of its list NaN.

    Raises:
      ValueError: `q` is outside [0, 1], `tau` or `power` is not positive, `power` is not 1 with a method that has none,
        `method` has no permutation matrix, `scale` is unknown, or scores are not `[batch, n]` or `[batch, n, 1]`.
      TypeError: scores are not floating-point, or `q` is not a number or a sequence of numbers.

    Cost: O(len(q) n + n log n) time and O(len(q) n) memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> ks.SoftQuantileLayer(q=0.5, tau=0.01)(tf.constant([[2.0, 5.0, 3.0]])).numpy().tolist()
    [[3.0]]

    Source: that of `ops.soft_quantile`.
    """

    def __init__(
        self,
        q: Any,
        tau: float = 1.0,
        *,
        method: str = "neural_sort",
        power: float = 1.0,
        scale: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, **kwargs)
        self._keep_options(q=np.atleast_1d(checked_quantiles(q)).tolist(), method=_methods.checked_method(method))
        self._keep_options(power=_methods.checked_power(power, method))
        self._check_options(scale=scale)

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """Map [batch, n] to [batch, len(q)]."""
        scores, tau, mask = self.split_scores(inputs, mask)
        return ops.soft_quantile(scores, self.q, tau, mask=mask, **self._options("method", "power", "scale"))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[batch, len(q)]`."""
        return layer_shape((self.scores_shape(input_shape)[0], len(self.q)))

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """None: quantiles are not items, so no mask applies."""
        return None
