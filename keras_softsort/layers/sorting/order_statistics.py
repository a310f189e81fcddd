"""Soft ranks, quantiles and top-k items as Keras layers."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.layers._base import SortingLayer, ranks_mask
from keras_softsort.ops.sorting import methods
from keras_softsort.ops.sorting.soft_quantile import checked_quantiles

RETURNS = ("membership", "values", "weights")


@export
class SoftRankLayer(SortingLayer):
    """Compute the soft rank of each item of a list, where 1 is the first.

    Use it to train on ranks. The formula, edge cases, errors, cost and source are those of `ops.soft_rank`.

    Args:
      tau: initial temperature in units of `method`; see `TemperatureLayer` and `ops.soft_rank`.
      method, power, hard, direction, scale: as in `ops.soft_rank`.
      axis: the axis of the items in scores `[batch, ...]` of any rank; see `NeuralSortLayer`.
      **kwargs: `learn_tau`, and the arguments of `keras.layers.Layer`.

    Output: ranks `[batch, n]`, with the mask of the scores. Masked items have rank 0.

    Example:
      >>> ks.SoftRankLayer(tau=0.01)(tf.constant([[2.0, 5.0, 3.0]])).numpy().tolist()
      [[3.0, 1.0, 2.0]]
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
        axis: int = -1,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, **kwargs)
        method = methods.checked_method(method, "ranks")
        self._keep_options(method=method, power=methods.checked_power(power, method))
        self._keep_checked(hard=hard, direction=direction, scale=scale, axis=axis)

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """Map [batch, n] to [batch, n]."""
        scores, tau, mask = self.split_scores(inputs, mask)
        options = self._options("method", "power", "hard", "direction", "scale", "axis")
        return ops.soft_rank(scores, tau, mask=mask, **options)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[batch, n]`."""
        return self.result_shape(input_shape)


@export
class SoftQuantileLayer(SortingLayer):
    """Compute soft quantiles of each list of scores, such as the soft median for `q=0.5`.

    For means that outliers do not move. See `ops.soft_quantile` for the formula, edge cases, errors, cost and source.

    Args:
      q: the quantile, a number in [0, 1], or a sequence of them. A number counts as a sequence of one.
      tau: initial temperature in units of `method`; see `TemperatureLayer` and `ops.soft_quantile`.
      method, power, scale: as in `ops.soft_quantile`.
      axis: the axis of the items in scores `[batch, ...]` of any rank; see `NeuralSortLayer`.
      **kwargs: `learn_tau`, and the arguments of `keras.layers.Layer`.

    Output: `[batch, len(q)]`, without a Keras mask. A list without valid items gives 0.

    Example:
      >>> ks.SoftQuantileLayer(q=0.5, tau=0.01)(tf.constant([[2.0, 5.0, 3.0]])).numpy().tolist()
      [[3.0]]
    """

    def __init__(
        self,
        q: Any,
        tau: float = 1.0,
        *,
        method: str = "neural_sort",
        power: float = 1.0,
        scale: str | None = None,
        axis: int = -1,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, **kwargs)
        method = methods.checked_method(method)
        quantiles = np.atleast_1d(checked_quantiles(q)).tolist()
        self._keep_options(method=method, power=methods.checked_power(power, method), q=quantiles)
        self._keep_checked(scale=scale, axis=axis)

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """Map [batch, n] to [batch, len(q)]."""
        scores, tau, mask = self.split_scores(inputs, mask)
        return ops.soft_quantile(scores, self.q, tau, mask=mask, **self._options("method", "power", "scale", "axis"))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[batch, len(q)]`."""
        return self.result_shape(input_shape, len(self.q))

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """None: quantiles are not items, so no mask applies."""
        return None


@export
class SoftTopKLayer(SortingLayer):
    """Compute the k largest (or smallest) scores of each list softly, or the items that they belong to.

    Use it to select k items inside a model. The formulas, edge cases, errors, cost and source are those of
    `ops.soft_top_k` and `ops.soft_top_k_membership`.

    Args:
      k: number of items, from 1 to n.
      tau: initial temperature in units of `method`; see `TemperatureLayer` and `ops.soft_top_k`.
      method, power, hard, direction, scale: as in the function. A method of None takes its default.
      returns: the result. `"values"`: the k scores `[batch, k]`. `"weights"`: the first k rows of the soft permutation
        `[batch, k, n]`. `"membership"`: how much each item belongs to the first k, `[batch, n]`, which sums to k.
      axis: the axis of the items in scores `[batch, ...]` of any rank; see `NeuralSortLayer`.
      **kwargs: `learn_tau`, and the arguments of `keras.layers.Layer`.

    The output has a Keras mask: of the ranks for `"values"`, of the items for `"membership"`.

    Example:
      >>> layer = ks.SoftTopKLayer(k=2, tau=0.01, returns="membership")
      >>> tf.round(layer(tf.constant([[2.0, 5.0, 3.0]]))).numpy().tolist()
      [[0.0, 1.0, 1.0]]
    """

    _rows_option = "k"

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
        axis: int = -1,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, **kwargs)
        self._keep_checked(k=k, hard=hard, direction=direction, scale=scale, axis=axis)
        self._keep_options(returns=arguments.one_of("returns", returns, RETURNS), method=method)
        needed = "membership" if returns == "membership" else "permutation"
        self._keep_options(power=methods.checked_power(power, methods.checked_method(self._method(), needed)))

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """Map [batch, n] to [batch, k], [batch, k, n] or [batch, n]."""
        scores, tau, mask = self.split_scores(inputs, mask)
        options = self._options("power", "hard", "direction", "scale", "axis")
        result = self._operator()(scores, self.k, tau, method=self._method(), mask=mask, **options)
        return result if self.returns == "membership" else getattr(result, self.returns)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[batch, k]`, `[batch, k, n]` or `[batch, n]`."""
        count = None if self.returns == "membership" else self.k
        return self.result_shape(input_shape, count, is_matrix=self.returns == "weights")

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the ranks for `"values"`, of the items for `"membership"`, and None for `"weights"`."""
        mask = self.split_mask(mask)
        if self.returns == "values":
            return ranks_mask(mask, self.k, self._list_axis)
        return mask if self.returns == "membership" else None

    def _operator(self) -> Any:
        return ops.soft_top_k_membership if self.returns == "membership" else ops.soft_top_k

    def _method(self) -> str:
        return inspect.unwrap(self._operator()).__kwdefaults__["method"] if self.method is None else self.method
