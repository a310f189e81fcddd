"""Sinkhorn iterations in log space, for any range of logits, including -inf.

With the logits L and potentials f, g, the weights are exp(L_ij + f_i + g_j) and an iteration is
f_i = log rows_i - logsumexp_j(L_ij + g_j), g_j = log columns_j - logsumexp_i(L_ij + f_i).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops.matching._marginals import SinkhornMarginals
from keras_softsort.ops.matching._scan import scan
from keras_softsort.ops.matching._undone import Undone


class Potentials(NamedTuple):
    """Iterations with float64 logits and potentials: at scores of 1e4 and a tau of 1e-3 float32 numbers are 1 apart.

    Exponentials are computed in the dtype of the scores, since their arguments are small.
    """

    marginals: SinkhornMarginals

    def first(self) -> tuple[tf.Tensor, tf.Tensor]:
        """The potentials before the first iteration; that of the rows is never read."""
        return tuple(tf.zeros_like(each, tf.float64) for each in (self.marginals.rows, self.marginals.columns))

    def step(self, f: tf.Tensor, g: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The row sums before an iteration, and the potentials after it."""
        rows, columns = self.marginals.rows, self.marginals.columns
        new_f = self._potential(self._logits(tf.zeros_like(f), g), rows, axis=2)
        new_g = self._potential(self._logits(new_f, tf.zeros_like(g)), columns, axis=1)
        # The new potential makes up for the difference of the old sum.
        return rows * tf.exp(tf.cast(f - new_f, rows.dtype)), new_f, new_g

    def weights(self, f: tf.Tensor, g: tf.Tensor) -> tf.Tensor:
        """[B, N, M]."""
        return tf.exp(tf.cast(self._logits(f, g), self.marginals.scores.dtype))

    def adjoint(self, undone: Undone, gradients: tuple) -> tuple[tf.Tensor, tf.Tensor]:
        """Undo iterations: the gradients of the logits [B, N, M] and of g before them, given those after them."""
        share = self.marginals.share

        def undo(t: Any, state: tuple, f: tf.Tensor, g: tf.Tensor, g_before: tf.Tensor) -> tuple:
            d_logits, d_g = state
            after, before = self.weights(f, g), self.weights(f, g_before)
            y = share(d_g, self.marginals.columns)
            y = undone.if_made(t, y, tf.zeros_like(y))
            x = share(undone.row_gradient(t) - tf.linalg.matvec(after, y), self.marginals.rows)
            x = undone.if_made(t, x, tf.zeros_like(x))
            new_g = undone.if_made(t, -tf.linalg.matvec(before, x, transpose_a=True), d_g)
            return (d_logits - after * y[:, tf.newaxis, :] - before * x[:, :, tf.newaxis], new_g), ()

        return scan(undo, gradients, undone.states, (), length=undone.length, unroll=False, reverse=True)[0]

    def _logits(self, f: tf.Tensor, g: tf.Tensor) -> tf.Tensor:
        """[B, N, M] float64, never stored where XLA fuses it."""
        marginals = self.marginals
        logits = marginals.row_centered(tf.float64) * marginals.inverse_tau
        logits += f[:, :, tf.newaxis] + g[:, tf.newaxis, :]
        return tf.where(marginals.possible, logits, tf.constant(-math.inf, logits.dtype))

    def _potential(self, logits: tf.Tensor, marginal: tf.Tensor, axis: int) -> tf.Tensor:
        """The potential log(marginal) - logsumexp(logits); 0 where the marginal is 0."""
        peak = self.marginals.peak(logits, axis)
        total = tf.reduce_sum(tf.exp(tf.cast(logits - peak, marginal.dtype)), axis=axis)
        ratio = tf.where(marginal > 0, total / tf.where(marginal > 0, marginal, 1), tf.ones_like(total))
        return -tf.squeeze(peak, axis) - tf.math.log(tf.cast(ratio, tf.float64))
