"""What is to be normalised: the checked arguments of Sinkhorn, with masks and slack turned into marginals."""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.batching import flatten_lists
from keras_softsort.ops._core.dtypes import compute_dtype
from keras_softsort.ops._core.straight_through import straight_through


class SinkhornMarginals(NamedTuple):
    """Matrices `[B, N, M]` whose rows are to sum to `rows` and whose columns to `columns`.

    Potentials and logits are float64 throughout: at scores of 1e4 and a temperature of 1e-3 the spacing of float32
    numbers is 1, and the weights depend on differences of such logits. Only exponentials and products, whose
    arguments are small by then, are computed in the dtype of `scores`.
    """

    scores: tf.Tensor  # [B, N, M] in the compute dtype, -inf where an entry is to be 0
    inverse_tau: tf.Tensor  # scalar, float64
    rows: tf.Tensor  # [B, N] in the compute dtype: what each row has to sum to; 0 for one that is masked
    columns: tf.Tensor  # [B, M]
    failed: tf.Tensor  # [B]: holds NaN or +inf, or a row or column that can take nothing
    whole: bool  # whether it is known that no row and no column is masked or slack, so that all are to sum to 1

    def logits(self, row_potential: tf.Tensor, column_potential: tf.Tensor) -> tf.Tensor:
        """The logits scores / tau + f_i + g_j, [B, N, M] float64, never stored where XLA fuses it."""
        wide = tf.cast(self.scores, tf.float64) * self.inverse_tau
        return wide + row_potential[:, :, tf.newaxis] + column_potential[:, tf.newaxis, :]

    def weights(self, row_potential: tf.Tensor, column_potential: tf.Tensor) -> tf.Tensor:
        """The exponential of the logits in the compute dtype."""
        return tf.exp(tf.cast(self.logits(row_potential, column_potential), self.scores.dtype))


def sinkhorn_marginals(
    log_scores: tf.Tensor, tau: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None
) -> SinkhornMarginals:
    """Flatten leading axes; add a slack row and a slack column unless the matrix is surely square and whole."""
    scores = flatten_lists(log_scores, inner=2)
    scores = tf.cast(scores, compute_dtype(scores.dtype))
    rows, columns = _kept(scores, row_mask, 1), _kept(scores, column_mask, 2)
    whole = not _needs_slack(log_scores, row_mask, column_mask)
    if not whole:
        surplus = tf.reduce_sum(columns, -1, keepdims=True) - tf.reduce_sum(rows, -1, keepdims=True)
        rows = tf.concat([rows, tf.nn.relu(surplus)], axis=1)
        columns = tf.concat([columns, tf.nn.relu(-surplus)], axis=1)
        # A slack row's own level is absorbed by its potential: any constant does.
        scores = tf.pad(scores, [[0, 0], [0, 1], [0, 1]])
    kept = tf.logical_and(rows[:, :, tf.newaxis] > 0, columns[:, tf.newaxis, :] > 0)
    scores = tf.where(kept, scores, tf.constant(-math.inf, scores.dtype))

    possible = scores > -math.inf  # false for NaN too
    not_a_number = tf.reduce_any(tf.logical_not(scores < math.inf), axis=[1, 2])
    no_column = tf.reduce_any(tf.logical_and(rows > 0, tf.logical_not(tf.reduce_any(possible, axis=2))), axis=1)
    no_row = tf.reduce_any(tf.logical_and(columns > 0, tf.logical_not(tf.reduce_any(possible, axis=1))), axis=1)
    failed = tf.logical_or(not_a_number, tf.logical_or(no_column, no_row))
    # A failed matrix is computed as if it held zeros, lest its NaN ends the loops that its neighbours share.
    safe = tf.where(failed[:, tf.newaxis, tf.newaxis] & kept, tf.zeros_like(scores), scores)
    safe = straight_through(safe, scores)  # its gradient is NaN still
    return SinkhornMarginals(safe, 1 / tau, rows, columns, failed, whole)


def _needs_slack(log_scores: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None) -> bool:
    """Whether rows and columns may differ in number."""
    n, m = log_scores.shape[-2:]
    return n is None or n != m or row_mask is not None or column_mask is not None


def _kept(scores: tf.Tensor, mask: tf.Tensor | None, axis: int) -> tf.Tensor:
    """1 for what is kept along `axis`, 0 for what is masked: [B, size]."""
    if mask is None:
        return tf.ones(tf.gather(tf.shape(scores), [0, axis]), scores.dtype)
    return tf.cast(flatten_lists(mask), scores.dtype)
