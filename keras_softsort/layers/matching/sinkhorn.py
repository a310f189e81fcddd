"""Sinkhorn as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal.keras_compat import register
from keras_softsort.layers.matching._matching_layer import MatchingLayer


@register
class SinkhornLayer(MatchingLayer):
    """Logits `[batch, n, m]` to a doubly stochastic matrix, or to the exact matching: see `ops.sinkhorn`.

    Args:
      tau: initial temperature, positive, in units of the logits. It is kept as the weight `layer.tau`; `TauSchedule`
        anneals it.
      num_iterations: iterations, or with a tolerance the most that are made.
      tolerance: stop once all row sums are within this of 1.
      hard: put out the exact matching of the largest sum, with the gradient of the soft one.
      learn_tau: train the temperature, as the weight `layer.log_tau`, its logarithm.
      **kwargs: arguments of a Keras layer.

    Input: entry (i, j) is the logit of assigning row i (say, an item) to column j (say, a position), and optionally a
    temperature `[batch]` or `[batch, 1]` per matrix (`layer([logits, tau])`). A Keras mask `[batch, n]` masks rows. In
    a square matrix as many leading columns are valid as there are valid rows, unless `column_mask` `[batch, m]` is
    given in the call (`layer(logits, mask=..., column_mask=...)`). Masked rows and columns are 0. Equal scores share
    evenly. Rectangular and empty matrices, -inf and NaN are treated as by `ops.sinkhorn`.

    Output: `[batch, n, m]`; no mask is handed on, since masked entries are 0. To put items `[batch, n, d]` in place,
    `tf.matmul(output, items, transpose_a=True)` sums for each place what is put there.

    Raises:
      ValueError: `tau` <= 0, `num_iterations` < 1, `tolerance` < 0; logits that are not `[batch, n, m]`.
      TypeError: integer logits, `hard` that is not a bool.

    Cost: O(n m) an iteration; `hard` adds `ops.linear_assignment`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> layer = ks.SinkhornLayer(tau=0.1, hard=True)
    >>> layer(tf.constant([[[2.0, 1.0], [3.0, 0.5]]])).numpy().tolist()
    [[[0.0, 1.0], [1.0, 0.0]]]

    Source: G. Mena et al., "Learning Latent Permutations with Gumbel-Sinkhorn Networks", ICLR 2018.
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        num_iterations: int = 20,
        tolerance: float | None = None,
        hard: bool = False,
        learn_tau: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            tau, num_iterations=num_iterations, tolerance=tolerance, hard=hard, learn_tau=learn_tau, **kwargs
        )

    def call(self, inputs: Any, mask: Any = None, column_mask: Any = None) -> tf.Tensor:
        """[batch, n, m] to the same shape."""
        logits, arguments = self._matching_arguments(inputs, mask, column_mask)
        return ops.sinkhorn(logits, **arguments)
