"""Products with SoftSort's matrix of power 1 in O(n log n): exp(-|t_i - t_j|) factors along the sorted order.

A sum over all items is a sum over earlier items, a sum over later items and the item's own term: two first-order
recurrences. Sums are computed in float64, so that values of different size keep their precision.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.decay_scan import laplace_sums
from keras_softsort.ops._core.lists import take
from keras_softsort.ops.sorting._matrix_free.products import MatrixFreeProducts, sorted_scores
from keras_softsort.ops.sorting._ordering import OrderedLists


class SeparableRows(NamedTuple):
    """The products with the values of sorted lists, and what their gradient needs."""

    products: tf.Tensor  # [L, n, d]: P w
    norms: tf.Tensor  # [L, n, 1]: 1 / the sum of a row's weights; 0 for a rank of masked items
    slopes: tf.Tensor  # [L, n, d + 1]: what `_slopes` gives of w and of 1


class SortedPositions(NamedTuple):
    """Positions on a line, `[L, n]`, not decreasing, in units of tau, and the first and last rank of equal ones."""

    positions: tf.Tensor
    valid: tf.Tensor  # [L, n, 1]: 1 where the item and the rank are not masked, else 0
    first: tf.Tensor
    last: tf.Tensor
    dtype: tf.DType  # of the exponentials


def soft_sort_products(lists: OrderedLists, scores: tf.Tensor, tau: tf.Tensor, eps: float | None) -> MatrixFreeProducts:
    """The products of power 1, which leave nothing out."""
    del eps
    ordered, valid = sorted_scores(lists, scores, tau)
    positions = -ordered / tf.cast(tau, tf.float64)
    line = SortedPositions(positions, tf.cast(valid, tf.float64), *lists.ties(), scores.dtype)

    def products(values: tf.Tensor) -> tuple[tf.Tensor, SeparableRows]:
        rows = _products(line, values)
        return rows.products, rows

    def transposed(rows: SeparableRows, left: tf.Tensor) -> tf.Tensor:
        return line.valid * _sums_and_slopes(line, tf.cast(left, tf.float64) * rows.norms)[0]

    def gradient(rows: SeparableRows, left: tf.Tensor, right: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        sums, items, ranks = _form_gradient(line, rows, left, right)
        return sums, take(items, lists.ranks) + lists.gradient_of_sorted_scores(ranks)

    return MatrixFreeProducts(products, transposed, gradient)


def _products(line: SortedPositions, values: tf.Tensor) -> SeparableRows:
    """P w of `values` w [L, n, d] of the items, 0 where masked, in float64."""
    values = tf.cast(values, tf.float64)
    # Relative to one of the values: a constant added to all of them has no effect, up to the last bit.
    reference = values[:, :1]
    sums, slopes = _sums_and_slopes(line, line.valid * tf.concat([values - reference, line.valid], axis=-1))
    masked = tf.equal(line.valid, 0)
    sizes = tf.where(masked, tf.ones_like(line.valid), sums[:, :, -1:])
    norms = tf.where(masked, tf.zeros_like(sizes), line.valid / sizes)
    means = tf.where(masked, tf.zeros_like(values), sums[:, :, :-1] * norms + reference)
    return SeparableRows(means, norms, slopes)


def _form_gradient(
    line: SortedPositions, rows: SeparableRows, left: tf.Tensor, right: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """P^T u; and of `sum_ij u_i P_ij w_j`, times tau, the gradients of the items' scores and of the ranks' [L, n]."""
    left, right = tf.cast(left, tf.float64), tf.cast(right, tf.float64)
    reference = right[:, :1]
    means, scaled = rows.products - reference, left * rows.norms
    both = tf.concat([scaled, tf.reduce_sum(scaled * means, axis=-1, keepdims=True)], axis=-1)
    sums, slopes = _sums_and_slopes(line, both)
    items = tf.reduce_sum((right - reference) * slopes[:, :, :-1], axis=-1) - slopes[:, :, -1]
    ranks = tf.reduce_sum(scaled * (rows.slopes[:, :, :-1] - means * rows.slopes[:, :, -1:]), axis=-1)
    return line.valid * sums[:, :, :-1], line.valid[:, :, 0] * items, ranks


def _sums_and_slopes(line: SortedPositions, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """`sum_j exp(-|t_i - t_j|) v_j` and `sum_j exp(-|t_i - t_j|) sign(t_i - t_j) v_j`: [L, n, d] each."""
    own = tf.transpose(values, [0, 2, 1])
    before, behind = laplace_sums(line.positions, own, line.dtype)
    # Equal positions have sign 0: the sum before the first of them minus the sum behind the last.
    strictly_before, strictly_behind = before - own, behind - own
    slopes = _at(strictly_before, line.first) - _at(strictly_behind, line.last)
    return tf.transpose(before + strictly_behind, [0, 2, 1]), slopes


def _at(values: tf.Tensor, ranks: tf.Tensor) -> tf.Tensor:
    """`values` [L, d, n] at `ranks` [L, n]: [L, n, d]."""
    return take(tf.transpose(values, [0, 2, 1]), ranks)
