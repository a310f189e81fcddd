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
      tau: initial temperature of `method`, positive. Kept as the weight `layer.tau`, which is not trained;
        `TauSchedule` anneals it.
      method: `"neural_sort"` or `"soft_sort"` (with power 1).
      **kwargs: those of a Keras layer.

    Call arguments: scores `[batch, n]` and an optional bool mask (True = keep); no mask is handed on, since the lists
    end here. A fully masked or empty list gives 0. Ties share evenly. Scores that are not finite give NaN in their
    list.

    Raises:
      ValueError: `q` outside [0, 1], `tau` <= 0, unknown `method`, scores that are not `[batch, n]`.
      TypeError: integer scores, `q` that is no number.

    Cost: O(len(q) n + n log n) time and O(len(q) n) memory a list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> ks.SoftQuantileLayer(q=0.5, tau=0.01)(tf.constant([[2.0, 5.0, 3.0]])).numpy().tolist()
    [[3.0]]

    Source: as for `ops.soft_quantile`.
    """

    def __init__(self, q: Any, tau: float = 1.0, *, method: str = "neural_sort", **kwargs: Any) -> None:
        super().__init__(tau, **kwargs)
        self.q = np.atleast_1d(checked_quantiles(q)).tolist()
        self.method = registry.checked_method(method)

    def call(self, scores: Any, mask: Any = None) -> tf.Tensor:
        """[batch, n] to [batch, len(q)]."""
        return ops.soft_quantile(scores, self.q, self.tau, method=self.method, mask=mask)

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """None: what comes out is no list of items any more."""
        return None

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "q": self.q, "method": self.method}
