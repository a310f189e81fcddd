"""NeuralSort and SoftSort as Keras layers."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.layers._base import SortingLayer, ranks_mask

RETURNS = ("permutation", "values", "ranks")


class PermutationLayer(SortingLayer):
    """Base class of layers that return a soft or exact permutation, sorted values or ranks."""

    _rows_option = "top_k"
    _method: str  # of `ops.soft_rank` and `ops.soft_values`
    power = 1.0

    def __init__(
        self,
        tau: float = 1.0,
        *,
        returns: str = "permutation",
        top_k: int | None = None,
        hard: bool = False,
        direction: str = "DESCENDING",
        scale: str | None = None,
        axis: int = -1,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, **kwargs)
        self._keep_checked(top_k=top_k, hard=hard, direction=direction, scale=scale, axis=axis)
        self._keep_options(returns=arguments.one_of("returns", returns, RETURNS))
        if self.top_k is not None and returns == "ranks":
            raise ValueError(f"top_k must be None with returns='ranks', which has a rank for every item, got {top_k}")

    def permutation(self, scores: Any, tau: Any, **options: Any) -> tf.Tensor:
        """The permutation matrix."""
        raise NotImplementedError

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """Map [batch, n] to [batch, n, n] or [batch, n], with `top_k` as the size of the rank axis if it is given."""
        scores, tau, mask = self.split_scores(inputs, mask)
        options = {"mask": mask, **self._options("hard", "direction", "scale", "axis")}
        if self.returns == "permutation":
            return self.permutation(scores, tau, top_k=self.top_k, **options)
        options.update(method=self._method, power=self.power)
        if self.returns == "ranks":
            return ops.soft_rank(scores, tau, **options)
        return ops.soft_values(scores, tau, top_k=self.top_k, **options)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[batch, n, n]` or `[batch, n]`, with `top_k` as the size of the rank axis if it is given."""
        return self.result_shape(input_shape, self.top_k, is_matrix=self.returns == "permutation")

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the ranks for `"values"`, None for the first `top_k` rows, otherwise the mask of the items."""
        mask = self.split_mask(mask)
        if self.returns == "values":
            return ranks_mask(mask, self.top_k, self._list_axis)
        return None if self.top_k else mask


@export
class NeuralSortLayer(PermutationLayer):
    """Sort scores softly with NeuralSort: a soft permutation matrix, sorted values or soft ranks.

    Use it to train through a sort. The formula, edge cases, errors, cost and source are those of `ops.neural_sort`.
    Values and ranks are those of `ops.soft_values` and `ops.soft_rank`, without a matrix on long lists.

    Args:
      tau: initial temperature in units of the scores times the list size n; see `TemperatureLayer`. For scores with a
        spread of about 1 start with n / 10.
      returns: the result. `"permutation"`: the matrix P `[batch, rank, item]`, with the weights of the items at each
        rank. `"values"`: the sorted scores `[batch, n]`. `"ranks"`: the soft ranks `[batch, n]`, where 1 is the first.
      top_k: number of first ranks to return, for `"permutation"` and `"values"`; None returns all.
      hard, direction, scale: as in `ops.neural_sort`. Values keep their scale.
      axis: the axis of the items in scores `[batch, ...]` of any rank. It cannot be 0, the batch. The ranks take its
        place, and the items are the last axis of a matrix. The default, -1, takes scores `[batch, n]` or
        `[batch, n, 1]`. A Keras mask has the leading axes of the scores.
      **kwargs: `learn_tau`, and the arguments of `keras.layers.Layer`.

    Masked items come last, and their values and ranks are 0. The output has a Keras mask: of the ranks for `"values"`,
    of the items otherwise, and none for a matrix with `top_k`.

    Example:
      >>> ks.NeuralSortLayer(tau=0.01, returns="values")(tf.constant([[2.0, 5.0, 3.0]])).numpy().tolist()
      [[5.0, 3.0, 2.0]]
    """

    _method = "neural_sort"

    def permutation(self, scores: Any, tau: Any, **options: Any) -> tf.Tensor:
        """NeuralSort's matrix."""
        return ops.neural_sort(scores, tau, **options)


@export
class SoftSortLayer(PermutationLayer):
    """Sort scores softly with SoftSort: a soft permutation matrix, sorted values or soft ranks.

    Its temperature does not depend on the list size. `ops.soft_sort` has formula and source. The rest is as in
    `NeuralSortLayer`.

    Args:
      tau: initial temperature in units of the scores to the `power`; see `TemperatureLayer`. For scores with a spread
        of about 1 start with 0.1 to 1.
      power: exponent of the distance of scores, positive.
      returns, top_k, hard, direction, scale, axis: see `NeuralSortLayer`.
      **kwargs: `learn_tau`, and the arguments of `keras.layers.Layer`.

    Example:
      >>> ks.SoftSortLayer(tau=0.01, returns="ranks")(tf.constant([[2.0, 5.0, 3.0]])).numpy().tolist()
      [[3.0, 1.0, 2.0]]
    """

    _method = "soft_sort"

    def __init__(
        self,
        tau: float = 1.0,
        *,
        power: float = 1.0,
        returns: str = "permutation",
        top_k: int | None = None,
        hard: bool = False,
        direction: str = "DESCENDING",
        scale: str | None = None,
        axis: int = -1,
        **kwargs: Any,
    ) -> None:
        options: dict[str, Any] = {"hard": hard, "direction": direction, "scale": scale, "axis": axis, **kwargs}
        super().__init__(tau, returns=returns, top_k=top_k, **options)
        self._keep_options(power=arguments.positive_number("power", power))

    def permutation(self, scores: Any, tau: Any, **options: Any) -> tf.Tensor:
        """SoftSort's matrix."""
        return ops.soft_sort(scores, tau, power=self.power, **options)
