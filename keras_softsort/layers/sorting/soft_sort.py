"""SoftSort as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort.layers.sorting._permutation_layer import PermutationLayer


@register
class SoftSortLayer(PermutationLayer):
    """Sorts scores `[batch, n]` softly by SoftSort: row i is `softmax_j(-|sort(s)_i - s_j|^power / tau)`.

    Args:
      tau: initial temperature, positive, in units of the scores to the `power` (see `ops.soft_sort`). It is the
        weight `layer.tau`; `TauSchedule` anneals it.
      power: positive exponent of the distance.
      returns: `"permutation"` gives P `[batch, rank, item]`, `"values"` the sorted scores `P @ s` `[batch, n]`,
        `"ranks"` the soft ranks `P^T (1..n)` `[batch, n]`, 1 = first.
      top_k: the first `top_k` ranks only, for `"permutation"` and `"values"`.
      hard: exact permutation in the forward pass, gradient of the soft one (straight-through).
      direction: `"DESCENDING"` (largest first) or `"ASCENDING"`.
      learn_tau: train the temperature, as its logarithm `layer.log_tau`.
      **kwargs: arguments of a Keras layer.

    Call arguments, masks, ties, empty lists, errors and cost: as for `NeuralSortLayer`; `power` <= 0 is a
    `ValueError`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> layer = ks.SoftSortLayer(tau=0.01, returns="ranks")
    >>> layer(tf.constant([[2.0, 5.0, 3.0]])).numpy().tolist()
    [[3.0, 1.0, 2.0]]

    Source: as for `ops.soft_sort`.
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        power: float = 1.0,
        returns: str = "permutation",
        top_k: int | None = None,
        hard: bool = False,
        direction: str = "DESCENDING",
        learn_tau: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            tau, returns=returns, top_k=top_k, hard=hard, direction=direction, learn_tau=learn_tau, **kwargs
        )
        self.power = arguments.positive_number("power", power)

    def permutation(self, scores: Any, tau: Any, **options: Any) -> tf.Tensor:
        """SoftSort's matrix."""
        return ops.soft_sort(scores, tau, power=self.power, **options)

    def method_arguments(self) -> dict[str, Any]:
        """SoftSort of this power."""
        return {"method": "soft_sort", "power": self.power}

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "power": self.power}
