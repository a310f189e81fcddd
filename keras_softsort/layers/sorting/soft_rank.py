"""Soft ranks as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal.export import export
from keras_softsort._internal.keras_compat import layer_shape
from keras_softsort.layers._base import SortingLayer
from keras_softsort.ops.sorting import _methods


@export
class SoftRankLayer(SortingLayer):
    """Compute the soft rank of each item of a list: `P^T (1, ..., n)`, or the ranks of a method without a matrix P.

    Args:
      tau: initial temperature, positive, in the units of `method`, see `ops.soft_rank`. See `TemperatureLayer` for
        `layer.tau`, `learn_tau` and a temperature per list.
      method: a method with ranks, see `ops.soft_rank`.
      power: exponent of the distance of scores, positive, for a method that has one, see `ops.soft_rank`.
      hard: whether to return exact ranks, with the gradient of the soft ones.
      direction: `"DESCENDING"` gives the largest score rank 1, `"ASCENDING"` the smallest.
      scale: `"std"` divides the scores by their standard deviation per list, see the operator. None does not.
      **kwargs: `learn_tau` (see `TemperatureLayer`) and the arguments of `keras.layers.Layer`.

    Input: scores `[batch, n]` or `[batch, n, 1]`. A temperature `[batch]` or `[batch, 1]` per list may follow
    (`layer([scores, tau])`). The mask, bool `[batch, n]` and True for valid items, comes from Keras or the caller.

    Output: ranks `[batch, n]`, where 1 is the first, with the mask of the scores. Masked items have rank 0. Tied items
    have equal ranks, unless `hard`. Empty lists and scores that are not finite are treated as by `ops.soft_rank`.

    Raises:
      ValueError: `tau` or `power` is not positive, `power` is not 1 with a method that has none, `method` has no ranks,
        `direction` or `scale` is unknown, or scores are not `[batch, n]` or `[batch, n, 1]`.
      TypeError: scores are not floating-point, or `hard` is not a bool.

    Cost: that of `ops.soft_rank` per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> ks.SoftRankLayer(tau=0.01)(tf.constant([[2.0, 5.0, 3.0]])).numpy().tolist()
    [[3.0, 1.0, 2.0]]

    Source: that of `ops.soft_rank`.
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        method: str = "neural_sort",
        power: float = 1.0,
        hard: bool = False,
        direction: str = "DESCENDING",
        scale: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, **kwargs)
        self._keep_options(method=_methods.checked_method(method, "ranks"), power=_methods.checked_power(power, method))
        self._check_options(hard=hard, direction=direction, scale=scale)

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """Map [batch, n] to [batch, n]."""
        scores, tau, mask = self.split_scores(inputs, mask)
        options = self._options("method", "power", "hard", "direction", "scale")
        return ops.soft_rank(scores, tau, mask=mask, **options)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[batch, n]`."""
        return layer_shape(self.scores_shape(input_shape))
