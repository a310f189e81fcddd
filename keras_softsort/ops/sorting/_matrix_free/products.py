"""Products with soft permutations and their gradients, without the matrix, by the algorithm of the method.

With logits l_ij of sorted lists, P = softmax_j(l) and a form sum_ij u_i P_ij w_j, the gradient with respect to l_ij is
`A_ij = P_ij u_i (w_j - (P w)_i)`. The algorithms compute P w, P^T u, and the sums of A that make up the gradient of the
scores; the rest is here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import tensorflow as tf

from keras_softsort.ops.core.numbers import running_sums
from keras_softsort.ops.core.order import take
from keras_softsort.ops.sorting._ordering import MAX_GAP, OrderedLists


class Products(Protocol):
    """A soft permutation P of sorted lists. Values and ranks are `[L, n, d]` in the order of the lists."""

    def products(self, values: tf.Tensor) -> tuple[tf.Tensor, Any]:
        """P w of `values` w, 0 where masked, and the rows that the others need."""

    def transposed(self, rows: Any, left: tf.Tensor) -> tf.Tensor:
        """P^T u of `left` u."""

    def gradient(self, rows: Any, left: tf.Tensor, right: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """P^T u of `left` u, and the gradient [L, n] of `sum_ij u_i P_ij w_j` for the scores, times tau."""


class MatrixFree(NamedTuple):
    """A method without its matrix."""

    # (lists, scores, tau, eps): the products of `lists` with these scores and temperatures. `eps` is the largest total
    # weight of a row that may be left out; None leaves out less than the rounding error.
    make_products: Callable[[OrderedLists, tf.Tensor, tf.Tensor, float | None], Products]
    min_size: int  # of lists that are computed without the matrix

    def multiply(self, lists: OrderedLists, values: tf.Tensor, eps: float | None = None) -> tf.Tensor:
        """P @ values for `values` [L, n, d], 0 where masked: [L, n, d], 0 at ranks of masked items."""

        @tf.custom_gradient
        def product(scores: tf.Tensor, tau: tf.Tensor, values: tf.Tensor) -> tuple:
            method = self.make_products(lists, scores, tau, eps)
            ordered = take(values, lists.order)
            result, rows = method.products(ordered)

            def gradient(upstream: tf.Tensor) -> tuple:
                sums, slopes = method.gradient(rows, upstream, ordered)
                d_values = tf.cast(take(sums, lists.ranks), values.dtype)
                return *_to_arguments(lists, slopes, scores, tau), d_values

            return tf.cast(result, values.dtype), gradient

        return product(lists.scores, lists.tau, values)

    def multiply_transposed(self, lists: OrderedLists, values: tf.Tensor, eps: float | None = None) -> tf.Tensor:
        """P^T @ values for `values` [L, n, d], one row per rank: [L, n, d], 0 for masked items."""

        @tf.custom_gradient
        def product(scores: tf.Tensor, tau: tf.Tensor, values: tf.Tensor) -> tuple:
            method = self.make_products(lists, scores, tau, eps)
            _, rows = method.products(values[:, :, :0])
            sums = method.transposed(rows, values)

            def gradient(upstream: tf.Tensor) -> tuple:
                ordered = take(lists.of_valid(upstream), lists.order)
                d_values, rows = method.products(ordered)
                _, slopes = method.gradient(rows, values, ordered)
                return *_to_arguments(lists, slopes, scores, tau), tf.cast(d_values, values.dtype)

            return tf.cast(take(sums, lists.ranks), values.dtype), gradient

        return product(lists.scores, lists.tau, values)


def sorted_scores(lists: OrderedLists, scores: tf.Tensor, tau: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Descending scores [L, n] in float64, and [L, n, 1]: 1, 0 where masked, NaN in a list whose tau is NaN."""
    ordered = tf.cast(take(scores, lists.order_of_valid()), tf.float64)
    number = tf.where(tf.math.is_nan(tau), tau, tf.ones_like(tau))
    valid = tf.range(tf.shape(scores)[1]) < lists.valid_counts()
    return ordered, tf.cast(tf.where(valid, number, tf.zeros_like(scores)), tf.float64)[:, :, tf.newaxis]


def normalized(sums: tf.Tensor, valid: tf.Tensor, reference: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """P w, and 1 / the sum of each row's weights, from sums of w - `reference` and of 1 [..., d + 1]; 0 if masked."""
    masked = tf.equal(valid, 0)
    norms = tf.where(masked, tf.zeros_like(valid), valid / tf.where(masked, tf.ones_like(valid), sums[:, :, -1:]))
    return tf.where(masked, tf.zeros_like(valid), sums[:, :, :-1] * norms + reference), norms


def _to_arguments(
    lists: OrderedLists, slopes: tf.Tensor, scores: tf.Tensor, tau: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """The gradients of scores and temperature, of `slopes` [L, n] of the items, times tau."""
    slopes, wide_tau = tf.cast(slopes, tf.float64), tf.cast(tau, tf.float64)
    # P(c s, c tau) = P(s, tau) and P(s + c, tau) = P(s, tau), so the temperature's gradient follows. Items across a
    # large gap do not interact, so gaps are clipped; otherwise they would multiply the rounding of slopes.
    ordered, _ = sorted_scores(lists, scores, tau)
    before = tf.concat([ordered[:, :1], ordered[:, :-1]], axis=1)
    widest = MAX_GAP[scores.dtype] * wide_tau
    below_first = take(running_sums(tf.minimum(before - ordered, widest)), lists.ranks)
    d_tau = tf.reduce_sum(slopes * (below_first / wide_tau), axis=-1, keepdims=True) / wide_tau
    return tf.cast(slopes / wide_tau, scores.dtype), tf.cast(d_tau, tau.dtype)
