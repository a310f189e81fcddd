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
      tau: initial temperature of `method`, positive. Kept as the weight `layer.tau`, which is not trained;
        `TauSchedule` anneals it.
      method: `"neural_sort"`, `"soft_sort"` (with power 1), `"projection"`, `"projection_kl"` or `"lapsum"`, as in
        `ops.soft_rank`.
      direction: with `"DESCENDING"` rank 1 is the largest score, with `"ASCENDING"` the smallest.
      **kwargs: those of a Keras layer.

    Call arguments: scores `[batch, n]` and an optional bool mask (True = keep), which is handed on. Masked items have
    rank 0. Ties have equal ranks. Empty lists and scores that are not finite behave as in `ops.soft_rank`.

    Raises:
      ValueError: `tau` <= 0, unknown `method` or `direction`, scores that are not `[batch, n]`.
      TypeError: integer scores.

    Cost: that of `ops.soft_rank` a list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> ks.SoftRankLayer(tau=0.01)(tf.constant([[2.0, 5.0, 3.0]])).numpy().tolist()
    [[3.0, 1.0, 2.0]]

    Source: as for `ops.soft_rank`.
    """

    def __init__(
        self, tau: float = 1.0, *, method: str = "neural_sort", direction: str = "DESCENDING", **kwargs: Any
    ) -> None:
        super().__init__(tau, **kwargs)
        self.method = registry.checked_method(method, "ranks")
        self.direction = arguments.one_of("direction", direction, arguments.DIRECTIONS)

    def call(self, scores: Any, mask: Any = None) -> tf.Tensor:
        """[batch, n] to [batch, n]."""
        return ops.soft_rank(scores, self.tau, method=self.method, mask=mask, direction=self.direction)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "method": self.method, "direction": self.direction}
