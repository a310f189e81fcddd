"""Products with soft permutations and their gradients, without the matrix, by the algorithm of the method.

With logits l_ij of sorted lists, P = softmax_j(l) and a form sum_ij u_i P_ij w_j, the gradient with respect to l_ij is
`A_ij = P_ij u_i (w_j - (P w)_i)`. The algorithms compute P w, P^T u, and the sums of A that make up the gradient of the
scores; the rest is here. All tensors have the shape of the lists: nothing grows with n^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.lists import take
from keras_softsort.ops.sorting._matrix_free import banded, separable
from keras_softsort.ops.sorting._matrix_free.block_sums import BlockedLists, blocks_of
from keras_softsort.ops.sorting._matrix_free.neural_sort_band import NeuralSortBand, neural_sort_band
from keras_softsort.ops.sorting._matrix_free.soft_sort_band import soft_sort_band
from keras_softsort.ops.sorting._ordering import MAX_GAP, OrderedLists


class MatrixFreeProducts(NamedTuple):
    """A soft permutation of sorted lists. Values and ranks are `[L, n, d]` in the order of the lists."""

    rows: Callable[[tf.Tensor], Any]  # of values w: what the others need, `products` P w among it
    products: Callable[[Any], tf.Tensor]
    transposed: Callable[[Any, tf.Tensor], tf.Tensor]  # P^T u
    gradient: Callable[[Any, tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]]  # P^T u, and tau dform/dscores [L, n]


def default_eps(dtype: tf.DType) -> float:
    """The largest total weight of a row that may be left out, below the rounding error of `dtype`."""
    return 2.0**-60 if dtype == tf.float64 else 2.0**-30


# (lists, scores, tau, eps): the products of `lists` with these scores and temperatures.
MakeProducts = Callable[[OrderedLists, tf.Tensor, tf.Tensor, float | None], MatrixFreeProducts]


class MatrixFree(NamedTuple):
    """A method without its matrix."""

    make_products: MakeProducts
    degree: float  # P(c s, c^degree tau) = P(s, tau)
    min_size: float  # of lists for which this is faster than the matrix
    min_size_compiled: float  # the same under XLA


def multiply(method: MatrixFree, lists: OrderedLists, values: tf.Tensor, eps: float | None = None) -> tf.Tensor:
    """P @ values for `values` [L, n, d], 0 where masked: [L, n, d], 0 at ranks of masked items."""

    @tf.custom_gradient
    def product(scores: tf.Tensor, tau: tf.Tensor, values: tf.Tensor) -> tuple:
        products = method.make_products(lists, scores, tau, eps)
        ordered = take(values, lists.order)
        rows = products.rows(ordered)

        def gradient(upstream: tf.Tensor) -> tuple:
            sums, slopes = products.gradient(rows, upstream, ordered)
            found = _to_arguments(lists, slopes, scores, tau, method.degree)
            return *found, tf.cast(take(sums, lists.ranks), values.dtype)

        return tf.cast(products.products(rows), values.dtype), gradient

    return product(lists.scores, lists.tau, values)


def multiply_transposed(
    method: MatrixFree, lists: OrderedLists, values: tf.Tensor, eps: float | None = None
) -> tf.Tensor:
    """P^T @ values for `values` [L, n, d], one row a rank: [L, n, d], 0 for masked items."""

    @tf.custom_gradient
    def product(scores: tf.Tensor, tau: tf.Tensor, values: tf.Tensor) -> tuple:
        products = method.make_products(lists, scores, tau, eps)
        sums = products.transposed(products.rows(values[:, :, :0]), values)

        def gradient(upstream: tf.Tensor) -> tuple:
            of_valid = (
                upstream
                if lists.mask is None
                else tf.where(lists.mask[:, :, tf.newaxis], upstream, tf.zeros_like(upstream))
            )
            ordered = take(of_valid, lists.order)
            rows = products.rows(ordered)
            _, slopes = products.gradient(rows, values, ordered)
            found = _to_arguments(lists, slopes, scores, tau, method.degree)
            return *found, tf.cast(products.products(rows), values.dtype)

        return tf.cast(take(sums, lists.ranks), values.dtype), gradient

    return product(lists.scores, lists.tau, values)


def _to_arguments(lists: OrderedLists, slopes: tf.Tensor, scores: tf.Tensor, tau: tf.Tensor, degree: float) -> tuple:
    """The gradients of scores and temperature, of `slopes` [L, n] of the items, times tau."""
    slopes, wide_tau = tf.cast(slopes, tf.float64), tf.cast(tau, tf.float64)
    # P(c s, c^degree tau) = P(s, tau) and P(s + c, tau) = P(s, tau), so the temperature's gradient follows. Items
    # across a large gap do not interact, so gaps are clipped; otherwise they would multiply the rounding of slopes.
    ordered, _ = _sorted_scores(lists, scores, tau)
    before = tf.concat([ordered[:, :1], ordered[:, :-1]], axis=1)
    widest = tf.pow(MAX_GAP[scores.dtype] * wide_tau, 1 / degree)
    below_first = take(tf.cumsum(tf.minimum(before - ordered, widest), axis=1), lists.ranks)
    d_tau = tf.reduce_sum(slopes * (below_first / (degree * wide_tau)), axis=-1, keepdims=True) / wide_tau
    return tf.cast(slopes / wide_tau, scores.dtype), tf.cast(d_tau, tau.dtype)


def neural_sort_products(
    lists: OrderedLists, scores: tf.Tensor, tau: tf.Tensor, eps: float | None
) -> MatrixFreeProducts:
    """The banded products of NeuralSort."""
    ordered, valid = _sorted_scores(lists, scores, tau)
    blocks = blocks_of(scores)
    units = blocks.extend(ordered / tf.cast(tau, tf.float64))
    return _banded(lists, neural_sort_band(blocks, units, _cut(blocks, scores, eps), scores.dtype), valid, tau)


def soft_sort_products(power: float) -> MakeProducts | None:
    """The products of SoftSort with this power: separable for 1, banded for 2, None for others."""
    return {1.0: _separable_soft_sort, 2.0: _banded_soft_sort}.get(power)


def _separable_soft_sort(lists: OrderedLists, scores: tf.Tensor, tau: tf.Tensor, _: float | None) -> MatrixFreeProducts:
    ordered, valid = _sorted_scores(lists, scores, tau)
    positions = -ordered / tf.cast(tau, tf.float64)
    return _recurrent(
        lists, separable.SortedPositions(positions, tf.cast(valid, tf.float64), *lists.ties(), scores.dtype)
    )


def _banded_soft_sort(lists: OrderedLists, scores: tf.Tensor, tau: tf.Tensor, eps: float | None) -> MatrixFreeProducts:
    ordered, valid = _sorted_scores(lists, scores, tau)
    blocks = blocks_of(scores)
    units = blocks.extend(ordered / tf.sqrt(tf.cast(tau, tf.float64)))
    return _banded(lists, soft_sort_band(blocks, units, _cut(blocks, scores, eps), scores.dtype), valid, tau)


def _cut(blocks: BlockedLists, scores: tf.Tensor, eps: float | None) -> tf.Tensor:
    """The cut for `eps`: a row leaves out fewer than n weights, each at most exp(-cut) times its largest."""
    return tf.math.log(tf.cast(blocks.size, tf.float64)) - math.log(eps or default_eps(scores.dtype))


def _sorted_scores(lists: OrderedLists, scores: tf.Tensor, tau: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Descending scores [L, n] in float64, with masked ones as the lowest valid one; and [L, n, 1]: 1, or 0 if masked.

    If a list has a valid score that is not finite, all its valid entries are NaN.
    """
    ordered = tf.cast(take(scores, lists.order), tf.float64)
    number = tf.where(tf.math.is_nan(tau), tau, tf.ones_like(tau))
    if lists.mask is None:
        return ordered, tf.broadcast_to(number, tf.shape(scores))[:, :, tf.newaxis]
    count = tf.reduce_sum(tf.cast(lists.mask, tf.int32), axis=1, keepdims=True)
    ranks = tf.range(tf.shape(scores)[1])
    least = take(ordered, tf.maximum(count - 1, 0))
    valid = tf.where(ranks < count, number, tf.zeros_like(scores))
    return tf.where(ranks < count, ordered, least), valid[:, :, tf.newaxis]


def _recurrent(lists: OrderedLists, line: separable.SortedPositions) -> MatrixFreeProducts:
    def gradient(rows: separable.SeparableRows, left: tf.Tensor, right: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        sums, items, ranks = separable.form_gradient(line, rows, left, right)
        return sums, _items_and_ranks(lists, items, ranks)

    return MatrixFreeProducts(
        rows=lambda values: separable.products(line, values),
        products=lambda rows: rows.products,
        transposed=lambda rows, left: separable.transposed_products(line, rows, left),
        gradient=gradient,
    )


def _banded(lists: OrderedLists, band: banded.Band, valid: tf.Tensor, tau: tf.Tensor) -> MatrixFreeProducts:
    def cut(values: tf.Tensor) -> tf.Tensor:
        return band.blocks.cut(tf.cast(values, tf.float64))

    join = band.blocks.join

    def gradient(rows: banded.BandedRows, left: tf.Tensor, right: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        left, right = cut(left), cut(right)
        sums, logits = banded.walk_columns(band, rows, left, right)
        total, items = join(logits.total), join(logits.moment)
        if isinstance(band, NeuralSortBand):
            return join(sums), _neural_sort_slopes(lists, total, items)
        ranks = join(banded.row_moments(band, rows, left, right))
        return join(sums), 2 * tf.sqrt(tf.cast(tau, tf.float64)) * _items_and_ranks(lists, items, ranks)

    return MatrixFreeProducts(
        rows=lambda values: banded.walk_rows(band, cut(valid), cut(values)),
        products=lambda rows: join(rows.products),
        transposed=lambda rows, left: join(banded.walk_transposed(band, rows, cut(left))),
        gradient=gradient,
    )


def _neural_sort_slopes(lists: OrderedLists, total: tf.Tensor, moment: tf.Tensor) -> tf.Tensor:
    """The effect of the score of an item on the logits of all others, by prefix sums, as in the dense products."""
    first, last = lists.ties()
    tied = tf.cast(first + last - 2 * tf.range(tf.shape(first)[1]), tf.float64)
    above = take(tf.cumsum(total, axis=-1, exclusive=True), first)
    not_below = take(tf.cumsum(total, axis=-1), last)
    slopes = tied * total - 2 * moment + above + not_below
    return take(slopes, lists.ranks)


def _items_and_ranks(lists: OrderedLists, items: tf.Tensor, ranks: tf.Tensor) -> tf.Tensor:
    """Add the two gradients [L, n] of SoftSort, that of the items' scores and that of the sorted scores."""
    return take(items, lists.ranks) + lists.gradient_of_sorted_scores(ranks)
