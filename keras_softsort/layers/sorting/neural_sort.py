"""NeuralSort as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal.export import export
from keras_softsort.layers.sorting._permutation_layer import PermutationLayer


@export
class NeuralSortLayer(PermutationLayer):
    """Sort scores softly with NeuralSort: a soft permutation matrix, sorted values or soft ranks.

    Row i of the matrix P, from 1, is `softmax_j(((n + 1 - 2 i) s_j - B_j) / tau)` with `B_j = sum_k |s_j - s_k|`. It
    holds the weights of the items j at rank i.

    Args:
      tau: initial temperature, positive, in units of the scores times the list size n. For scores with a spread of
        about 1 start with n / 10. See `TemperatureLayer` for `layer.tau`, `learn_tau` and a temperature per list.
      returns: the result. `"permutation"`: the matrix P `[batch, rank, item]`. `"values"`: the sorted scores `P @ s`
        `[batch, n]`. `"ranks"`: the soft ranks `P^T (1..n)` `[batch, n]`, where 1 is the first.
      top_k: number of first ranks to return, for `"permutation"` and `"values"`; None returns all.
      hard: whether to use the exact permutation, with the gradient of the soft one (straight-through).
      direction: `"DESCENDING"` (largest first) or `"ASCENDING"`.
      learn_tau: whether to train the temperature, see `TemperatureLayer`.
      **kwargs: arguments of `keras.layers.Layer`.

    Input: scores `[batch, n]` or `[batch, n, 1]`. A temperature `[batch]` or `[batch, 1]` per list may follow
    (`layer([scores, tau])`). The mask, bool `[batch, n]` and True for valid items, comes from Keras or the caller.
    Masked items come last, and their values and ranks are 0. The output has a Keras mask: of the ranks for `"values"`,
    of the items otherwise, and none for a matrix with `top_k`. Tied items share their ranks evenly. Empty lists and
    scores that are not finite are treated as by `ops.neural_sort`.

    Raises:
      ValueError: `tau` is not positive, `returns` or `direction` is unknown, `top_k` is below 1, above n or given with
        `"ranks"`, or scores are not `[batch, n]` or `[batch, n, 1]`.
      TypeError: scores are not floating-point, or `hard` is not a bool.

    Cost: O(n^2) time and memory per list for the matrix, and O(top_k n) with `top_k`. Values and ranks cost as much as
    `ops.soft_values`, which needs no matrix on long lists.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> layer = ks.NeuralSortLayer(tau=0.01, returns="values")
    >>> layer(tf.constant([[2.0, 5.0, 3.0]])).numpy().tolist()
    [[5.0, 3.0, 2.0]]

    Source: that of `ops.neural_sort`.
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
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

    def permutation(self, scores: Any, tau: Any, **options: Any) -> tf.Tensor:
        """NeuralSort's matrix."""
        return ops.neural_sort(scores, tau, **options)

    def method_arguments(self) -> dict[str, Any]:
        """The arguments for NeuralSort."""
        return {"method": "neural_sort"}
