"""Sinkhorn as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal.export import export
from keras_softsort.layers.matching._matching_layer import MatchingLayer


@export
class SinkhornLayer(MatchingLayer):
    """Map logits `[batch, n, m]` to a soft matching, a matrix whose rows and columns sum to 1 (see `ops.sinkhorn`).

    Args:
      tau: initial temperature, positive, in units of the logits. See `TemperatureLayer` for `layer.tau`,
        `learn_tau` and a temperature per matrix.
      num_iterations: number of Sinkhorn iterations; with a `tolerance`, the maximum number.
      tolerance: stop once all row sums are within this distance of 1. None always runs `num_iterations`.
      hard: whether to return the exact matching with the largest sum of logits, with the gradient of the soft one.
      learn_tau: whether to train the temperature, see `TemperatureLayer`.
      **kwargs: arguments of `keras.layers.Layer`.

    Input: entry (i, j) is the logit of assigning row i (say, an item) to column j (say, a position). A temperature
    `[batch]` or `[batch, 1]` per matrix may follow (`layer([logits, tau])`). The mask `[batch, n]`, from Keras or the
    caller, marks valid rows. In a square matrix as many leading columns are valid as there are valid rows, unless the
    call gives a `column_mask` `[batch, m]` (`layer(logits, mask=..., column_mask=...)`). Masked rows and columns are 0.
    Equal logits share evenly. Rectangular and empty matrices, -inf and NaN are treated as by `ops.sinkhorn`.

    Output: `[batch, n, m]`. It has no Keras mask, since masked entries are 0. To move items `[batch, n, d]` to their
    positions, use `tf.matmul(output, items, transpose_a=True)`.

    Raises:
      ValueError: `tau` is not positive, `num_iterations` is below 1, `tolerance` is below 0, or logits do not have
        shape `[batch, n, m]`.
      TypeError: logits are not floating-point, or `hard` is not a bool.

    Cost: O(n m) time per iteration; `hard` adds that of `ops.linear_assignment`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> layer = ks.SinkhornLayer(tau=0.1, hard=True)
    >>> layer(tf.constant([[[2.0, 1.0], [3.0, 0.5]]])).numpy().tolist()
    [[[0.0, 1.0], [1.0, 0.0]]]

    Source: G. Mena et al., "Learning Latent Permutations with Gumbel-Sinkhorn Networks", ICLR 2018.
    """

    def call(self, inputs: Any, mask: Any = None, column_mask: Any = None) -> tf.Tensor:
        """Map [batch, n, m] to a matrix of the same shape."""
        logits, arguments = self._matching_arguments(inputs, mask, column_mask)
        return ops.sinkhorn(logits, **arguments)
