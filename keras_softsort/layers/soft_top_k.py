"""Soft top-k as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort.layers._base import SortingLayer, leading_ranks
from keras_softsort.ops.sorting._methods import registry

OUTPUTS = ("membership", "values", "weights")


@register
class SoftTopKLayer(SortingLayer):
    """The k softly largest of scores `[batch, n]`, or which items they are.

    Args:
      k: how many, 1 to n.
      tau: initial temperature of `method`, positive. Kept as the weight `layer.tau`, which is not trained;
        `TauSchedule` anneals it.
      method: `"neural_sort"` or `"soft_sort"` (with power 1); for `"membership"` also `"lapsum"`.
      output: `"values"` `[batch, k]`, `"weights"` `[batch, k, n]` (the first k rows of P), or `"membership"`
        `[batch, n]`, how much of the k places each item holds (`ops.soft_top_k_membership`); it sums to k.
      **kwargs: those of a Keras layer.

    Call arguments: scores `[batch, n]` and an optional bool mask (True = keep). Where fewer than k items are kept,
    values beyond are 0 and the remaining weight lies on masked items. The output carries a mask on: of ranks with
    `"values"`, of items with `"membership"`. Ties share evenly. Scores that are not finite give NaN in their list.

    Raises:
      ValueError: `k` < 1 or above n, `tau` <= 0, unknown `method` or `output`, scores that are not `[batch, n]`.
      TypeError: integer scores, `k` that is not an integer.

    Cost: O(k n + n log n) time and O(k n) memory a list; with `"lapsum"` O(n log n) and O(n).

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> layer = ks.SoftTopKLayer(k=2, tau=0.01, output="membership")
    >>> layer(tf.constant([[2.0, 5.0, 3.0]])).numpy().tolist()
    [[0.0, 1.0, 1.0]]

    Source: as for `ops.soft_top_k` and `ops.soft_top_k_membership`.
    """

    def __init__(
        self, k: int, tau: float = 1.0, *, method: str = "neural_sort", output: str = "values", **kwargs: Any
    ) -> None:
        super().__init__(tau, **kwargs)
        self.k = arguments.positive_integer("k", k)
        self.returns = arguments.one_of("output", output, OUTPUTS)
        self.method = registry.checked_method(method, "membership" if output == "membership" else "permutation")

    def call(self, scores: Any, mask: Any = None) -> tf.Tensor:
        """[batch, n] to [batch, k], [batch, k, n] or [batch, n]."""
        operator = ops.soft_top_k_membership if self.returns == "membership" else ops.soft_top_k
        result = operator(scores, self.k, self.tau, method=self.method, mask=mask)
        return result if self.returns == "membership" else getattr(result, self.returns)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Of the ranks for `"values"`, of the items for `"membership"`, none for `"weights"`."""
        if self.returns == "values":
            return leading_ranks(mask, self.k)
        return mask if self.returns == "membership" else None

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "k": self.k, "method": self.method, "output": self.returns}
