"""SoftSort as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.layers.sorting._permutation_layer import PermutationLayer


@export
class SoftSortLayer(PermutationLayer):
    """Sort scores softly with SoftSort: a soft permutation matrix, sorted values or soft ranks.

    Row i of the matrix P is `softmax_j(-|sort(s)_i - s_j|^power / tau)`. It holds the weights of the items j at rank i.

    Args:
      tau: initial temperature, positive, in units of the scores to the `power`. For scores with a spread of about 1
        start with 0.1 to 1. See `TemperatureLayer` for `layer.tau`, `learn_tau` and a temperature per list.
      power: exponent of the distance of scores, positive.
      returns: the result. `"permutation"`: the matrix P `[batch, rank, item]`. `"values"`: the sorted scores `P @ s`
        `[batch, n]`. `"ranks"`: the soft ranks `P^T (1..n)` `[batch, n]`, where 1 is the first.
      top_k: number of first ranks to return, for `"permutation"` and `"values"`; None returns all.
      hard: whether to use the exact permutation, with the gradient of the soft one (straight-through).
      direction: `"DESCENDING"` (largest first) or `"ASCENDING"`.
      learn_tau: whether to train the temperature, see `TemperatureLayer`.
      **kwargs: arguments of `keras.layers.Layer`.

    Input, masks, ties, empty lists, errors and cost are those of `NeuralSortLayer`. A `power` that is not positive is a
    ValueError.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> layer = ks.SoftSortLayer(tau=0.01, returns="ranks")
    >>> layer(tf.constant([[2.0, 5.0, 3.0]])).numpy().tolist()
    [[3.0, 1.0, 2.0]]

    Source: that of `ops.soft_sort`.
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
        """The arguments for SoftSort."""
        return {"method": "soft_sort", "power": self.power}

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "power": self.power}
