"""Soft top-k as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._internal.keras_compat import layer_shape
from keras_softsort.layers._base import SortingLayer, ranks_mask
from keras_softsort.ops.sorting import _methods

RESULTS = ("membership", "values", "weights")


@export
class SoftTopKLayer(SortingLayer):
    """Compute the k largest (or smallest) scores of each list softly, or the items that they belong to.

    Args:
      k: number of items, from 1 to n.
      tau: initial temperature, positive, in the units of `method`, see `ops.soft_top_k`. See `TemperatureLayer` for
        `layer.tau`, `learn_tau` and a temperature per list.
      method: a method with a permutation matrix, or for `"membership"` one with memberships. None takes the default of
        `ops.soft_top_k` or of `ops.soft_top_k_membership`.
      power: exponent of the distance of scores, positive, for a method that has one, see `ops.soft_top_k`.
      returns: the result. `"values"`: the k scores `[batch, k]`. `"weights"`: the first k rows of the soft permutation
        `[batch, k, n]`. `"membership"`: how much each item belongs to the first k, `[batch, n]`, which sums to k.
      hard: whether to return the exact result, with the gradient of the soft one.
      direction: `"DESCENDING"` for the k largest scores, `"ASCENDING"` for the k smallest.
      scale: `"std"` divides the scores by their standard deviation per list, see the operator. None does not.
      **kwargs: `learn_tau` (see `TemperatureLayer`) and the arguments of `keras.layers.Layer`.

    Input: scores `[batch, n]` or `[batch, n, 1]`. A temperature `[batch]` or `[batch, 1]` per list may follow
    (`layer([scores, tau])`). The mask, bool `[batch, n]` and True for valid items, comes from Keras or the caller. If
    fewer than k items are valid, the remaining values are 0, and the remaining weight is on masked items. The output
    has a Keras mask: of the ranks for `"values"`, of the items for `"membership"`. Tied items share their ranks evenly.
    A score that is not finite makes the result of its list NaN.

    Raises:
      ValueError: `k` is below 1 or above n, `tau` or `power` is not positive, `power` is not 1 with a method that has
        none, `method` has no permutation matrix (or memberships), `returns`, `direction` or `scale` is unknown, or
        scores are not `[batch, n]` or `[batch, n, 1]`.
      TypeError: scores are not floating-point, or `k` is not an integer.

    Cost: O(k n + n log n) time and O(k n) memory per list; with `"lapsum"` O(n log n) and O(n).

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> layer = ks.SoftTopKLayer(k=2, tau=0.01, returns="membership")
    >>> tf.round(layer(tf.constant([[2.0, 5.0, 3.0]]))).numpy().tolist()
    [[0.0, 1.0, 1.0]]

    Source: that of `ops.soft_top_k` and `ops.soft_top_k_membership`.
    """

    def __init__(
        self,
        k: int,
        tau: float = 1.0,
        *,
        method: str | None = None,
        power: float = 1.0,
        returns: str = "values",
        hard: bool = False,
        direction: str = "DESCENDING",
        scale: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, **kwargs)
        self._check_options(k=k, hard=hard, direction=direction, scale=scale)
        self._keep_options(returns=arguments.one_of("returns", returns, RESULTS), method=method)
        needed = "membership" if returns == "membership" else "permutation"
        self._keep_options(power=_methods.checked_power(power, _methods.checked_method(self._method(), needed)))

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """Map [batch, n] to [batch, k], [batch, k, n] or [batch, n]."""
        scores, tau, mask = self.split_scores(inputs, mask)
        options = {"method": self._method(), "mask": mask, **self._options("power", "hard", "direction", "scale")}
        result = self._operator()(scores, self.k, tau, **options)
        return result if self.returns == "membership" else getattr(result, self.returns)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[batch, k]`, `[batch, k, n]` or `[batch, n]`."""
        batch, size = self.scores_shape(input_shape)
        shapes = {"values": (batch, self.k), "weights": (batch, self.k, size), "membership": (batch, size)}
        return layer_shape(shapes[self.returns])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the ranks for `"values"`, that of the items for `"membership"`, and None for `"weights"`."""
        mask = self.split_mask(mask)
        if self.returns == "values":
            return ranks_mask(mask, self.k)
        return mask if self.returns == "membership" else None

    def _operator(self) -> Any:
        return ops.soft_top_k_membership if self.returns == "membership" else ops.soft_top_k

    def _method(self) -> str:
        return self._operator().__kwdefaults__["method"] if self.method is None else self.method
