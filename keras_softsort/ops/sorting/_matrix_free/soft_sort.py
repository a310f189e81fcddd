"""Products with SoftSort's matrix of power 1 in O(n log n): exp(-|t_i - t_j|) factors along the sorted order.

A sum over all items is one over earlier items, one over later items and the item's own term, in float64.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.decay_scan import laplace_sums
from keras_softsort.ops.core.order import take
from keras_softsort.ops.sorting._matrix_free.products import normalized, sorted_scores
from keras_softsort.ops.sorting._ordering import OrderedLists


class SoftSortProducts(NamedTuple):
    """SoftSort's matrix P of sorted lists, whose positions on a line do not decrease."""

    lists: OrderedLists
    positions: tf.Tensor  # [L, n], in units of tau
    valid: tf.Tensor  # [L, n, 1]: 1 where the item and the rank are not masked, else 0
    ties: tuple[tf.Tensor, tf.Tensor]  # [L, n] each: the first and the last rank of equal positions

    def products(self, values: tf.Tensor) -> tuple[tf.Tensor, SeparableRows]:
        """P w of `values` w [L, n, d] of the items, 0 where masked, in float64."""
        values = tf.cast(values, tf.float64)
        # Relative to one of the values: a constant added to all of them has no effect, up to the last bit.
        reference = values[:, :1]
        sums, slopes = self._sums_and_slopes(self.valid * tf.concat([values - reference, self.valid], axis=-1))
        rows = SeparableRows(*normalized(sums, self.valid, reference), slopes)
        return rows.products, rows

    def transposed(self, rows: SeparableRows, left: tf.Tensor) -> tf.Tensor:
        """P^T u of `left` u [L, n, d] of the ranks."""
        return self.valid * self._sums_and_slopes(tf.cast(left, tf.float64) * rows.norms)[0]

    def gradient(self, rows: SeparableRows, left: tf.Tensor, right: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """P^T u of `left` u, and the gradient of `sum_ij u_i P_ij w_j` with `right` w for the scores, times tau."""
        left, right = tf.cast(left, tf.float64), tf.cast(right, tf.float64)
        reference = right[:, :1]
        means, scaled = rows.products - reference, left * rows.norms
        both = tf.concat([scaled, tf.reduce_sum(scaled * means, axis=-1, keepdims=True)], axis=-1)
        sums, slopes = self._sums_and_slopes(both)
        items = tf.reduce_sum((right - reference) * slopes[:, :, :-1], axis=-1) - slopes[:, :, -1]
        ranks = tf.reduce_sum(scaled * (rows.slopes[:, :, :-1] - means * rows.slopes[:, :, -1:]), axis=-1)
        of_items = take(self.valid[:, :, 0] * items, self.lists.ranks)
        return self.valid * sums[:, :, :-1], of_items + self.lists.gradient_of_sorted_scores(ranks)

    def _sums_and_slopes(self, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """`sum_j exp(-|t_i - t_j|) v_j` and `sum_j exp(-|t_i - t_j|) sign(t_i - t_j) v_j`: [L, n, d] each."""
        both = laplace_sums(self.positions, tf.transpose(values, [0, 2, 1]), self.lists.scores.dtype)
        before, behind = (tf.transpose(each, [0, 2, 1]) for each in both)
        # Equal positions have sign 0: the sum before the first of them minus the sum behind the last.
        first, last = self.ties
        return before + (behind - values), take(before - values, first) - take(behind - values, last)


class SeparableRows(NamedTuple):
    """The products with the values of sorted lists, and what their gradient needs."""

    products: tf.Tensor  # [L, n, d]: P w
    norms: tf.Tensor  # [L, n, 1]: 1 / the sum of a row's weights; 0 for a rank of masked items
    slopes: tf.Tensor  # [L, n, d + 1]: the slopes of w and of 1


def soft_sort_products(lists: OrderedLists, scores: tf.Tensor, tau: tf.Tensor, eps: float | None) -> SoftSortProducts:
    """The products of power 1, which leave nothing out."""
    del eps
    ordered, valid = sorted_scores(lists, scores, tau)
    return SoftSortProducts(lists, -ordered / tf.cast(tau, tf.float64), valid, lists.ties())
