"""Soft ranks, quantiles and top-k items as Keras layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._internal.keras_compat import layer_shape
from keras_softsort.layers._base import SortingLayer, ranks_mask
from keras_softsort.ops.sorting import _methods
from keras_softsort.ops.sorting.soft_quantile import checked_quantiles

RESULTS = ("membership", "values", "weights")


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
