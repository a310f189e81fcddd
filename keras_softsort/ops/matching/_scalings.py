"""Sinkhorn iterations as products of one kernel with vectors, where the range of the logits allows that.

With K = exp(logits) and scalings u, v, the weights are u_i K_ij v_j and an iteration is u = rows / (K v),
v = columns / (K^T u). No iteration takes an exponential of the matrix.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.thresholds import is_at_most
from keras_softsort.ops.matching._marginals import SinkhornMarginals
from keras_softsort.ops.matching._scan import scan
from keras_softsort.ops.matching._undone import Undone

# The largest range of the logits, relative to the maxima of rows and columns, for which no scaling and no sum over- or
# underflows. Potentials differ by up to three times this from those of the limit.
MAX_RANGE = {tf.float32: 24.0, tf.float64: 200.0}
# Up to this many columns TensorFlow's matrix products take longer to start than simple operations to end.
SHORT = 32


class Scalings(NamedTuple):
    """The kernel of `marginals`, and the first column scaling."""

    marginals: SinkhornMarginals
    kernel: tf.Tensor  # [B, N, M]
    start: tf.Tensor  # [B, M]
    unroll: bool

    def first(self) -> tuple[tf.Tensor, tf.Tensor]:
        """The scalings before the first iteration; that of the rows is never read."""
        return tf.ones_like(self.marginals.rows, self.kernel.dtype), self.start

    def step(self, u: tf.Tensor, v: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The row sums before an iteration, and the scalings after it."""
        products = self._times(v)
        new_u = self._ratio(self.marginals.rows, products)
        new_v = self._ratio(self.marginals.columns, self._transposed_times(new_u))
        return u * products, new_u, new_v

    def weights(self, u: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
        """[B, N, M]."""
        return u[:, :, tf.newaxis] * self.kernel * v[:, tf.newaxis, :]

    def adjoint(self, undone: Undone, gradients: tuple) -> tuple[tf.Tensor, tf.Tensor]:
        """Undo iterations: the gradients of the logits [B, N, M] and of log v before them, given those after them.

        With y = d_g / columns, undoing a column step takes W_ij y_j from the gradient of the logits and W y from that
        of log u, where W are the weights after it; the row step likewise. What all steps take is one matrix product.
        """
        d_logits, d_g = gradients
        share = self.marginals.share

        def undo(t: Any, state: tuple, u: tf.Tensor, v: tf.Tensor, v_before: tf.Tensor) -> tuple:
            y = v * share(state[0], self.marginals.columns)
            y = undone.if_made(t, y, tf.zeros_like(y))
            x = u * share(undone.row_gradient(t) - u * self._times(y), self.marginals.rows)
            x = undone.if_made(t, x, tf.zeros_like(x))
            new_g = -v_before * self._transposed_times(x)
            return (undone.if_made(t, new_g, state[0]),), (x, y)

        u, v, v_before = undone.states
        (d_g,), (x, y) = scan(
            undo, (d_g,), undone.states, (u[0], v[0]), length=undone.length, unroll=self.unroll, reverse=True
        )
        taken = tf.einsum("tbn,tbm->bnm", tf.concat([u, x], axis=0), tf.concat([y, v_before], axis=0))
        return d_logits - self.kernel * taken, d_g

    def _times(self, v: tf.Tensor) -> tf.Tensor:
        """The kernel times [B, M]: [B, N]."""
        if is_at_most(self.kernel.shape[2], SHORT):
            return tf.reduce_sum(self.kernel * v[:, tf.newaxis, :], axis=2)
        return tf.linalg.matvec(self.kernel, v)

    def _transposed_times(self, u: tf.Tensor) -> tf.Tensor:
        """The transposed kernel times [B, N]: [B, M]."""
        if is_at_most(self.kernel.shape[2], SHORT):
            return tf.reduce_sum(self.kernel * u[:, :, tf.newaxis], axis=1)
        return tf.linalg.matvec(self.kernel, u, transpose_a=True)

    def _ratio(self, marginal: tf.Tensor, products: tf.Tensor) -> tf.Tensor:
        """The scaling marginal / products, 0 where both are 0."""
        if self.marginals.whole:
            return tf.math.reciprocal(products)
        return tf.math.divide_no_nan(tf.cast(marginal, products.dtype), products)


def scalings(marginals: SinkhornMarginals, dtype: tf.DType, *, unroll: bool) -> Scalings:
    """The kernel in `dtype`, whose entries are at most 1."""
    exponents, level = _exponents(marginals, dtype)
    kernel = tf.exp(exponents)
    if not marginals.whole:
        kernel = tf.where(marginals.possible, kernel, tf.zeros_like(kernel))
    return Scalings(marginals, kernel, tf.exp(level), unroll)


def logit_range(marginals: SinkhornMarginals) -> tf.Tensor:
    """The largest distance of a logit below the maxima of its row and column; infinite where an entry is never."""
    exponents, _ = _exponents(marginals, marginals.scores.dtype)
    largest = -tf.reduce_min(exponents)
    return tf.where(marginals.never, tf.constant(math.inf, largest.dtype), largest)


def _exponents(marginals: SinkhornMarginals, dtype: tf.DType) -> tuple[tf.Tensor, tf.Tensor]:
    """The logits [B, N, M] less the maxima of rows and columns, and the latter [B, M]; 0 where masked."""
    logits = marginals.row_centered(dtype) * tf.cast(marginals.inverse_tau, dtype)
    level = marginals.peak(logits, axis=1)
    exponents = logits - level
    if not marginals.whole:
        exponents = tf.where(marginals.possible, exponents, tf.zeros_like(exponents))
    return exponents, level[:, 0]
