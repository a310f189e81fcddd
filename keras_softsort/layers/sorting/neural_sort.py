"""NeuralSort as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal.keras_compat import register
from keras_softsort.layers.sorting._permutation_layer import PermutationLayer


@register
class NeuralSortLayer(PermutationLayer):
    """Sorts scores `[batch, n]` softly by NeuralSort: row i is `softmax_j(((n + 1 - 2 i) s_j - B_j) / tau)`.

    Args:
      tau: initial temperature, positive, in units of the logits (see `ops.neural_sort`). It is the weight `layer.tau`;
        `TauSchedule` anneals it.
      returns: `"permutation"` gives P `[batch, rank, item]`, `"values"` the sorted scores `P @ s` `[batch, n]`,
        `"ranks"` the soft ranks `P^T (1..n)` `[batch, n]`, 1 = first.
      top_k: the first `top_k` ranks only, for `"permutation"` and `"values"`.
      hard: exact permutation in the forward pass, gradient of the soft one (straight-through).
      direction: `"DESCENDING"` (largest first) or `"ASCENDING"`.
      learn_tau: train the temperature, as its logarithm `layer.log_tau`.
      **kwargs: arguments of a Keras layer.

    Call arguments: scores `[batch, n]` or `[batch, n, 1]`, or a list of them and a temperature per example,
    `[batch]` or `[batch, 1]`; and an optional bool mask `[batch, n]` (True = keep), given or from Keras. The
    output carries a Keras mask on: of the ranks with `"values"`, of the items otherwise (none with a `top_k` matrix).
    Masked items come last; values and ranks of padding are 0. Ties share evenly. Empty lists and scores that are not
    finite behave as in `ops.neural_sort`.

    Raises:
      ValueError: `tau` <= 0, unknown `returns` or `direction`, `top_k` < 1, above n, or with `"ranks"`; scores that
        are not `[batch, n]` or `[batch, n, 1]`.
      TypeError: integer scores, `hard` that is not a bool.

    Cost: O(n^2) time and memory a list, O(top_k n) with `top_k`; soft values and ranks of all items cost what
    `ops.soft_values` does, without the matrix on long lists.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> layer = ks.NeuralSortLayer(tau=0.01, returns="values")
    >>> layer(tf.constant([[2.0, 5.0, 3.0]])).numpy().tolist()
    [[5.0, 3.0, 2.0]]

    Source: as for `ops.neural_sort`.
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
        """NeuralSort."""
        return {"method": "neural_sort"}
