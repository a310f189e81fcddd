"""Products with a banded soft permutation in O(n) memory, with gradients in closed form: the matrix is never made.

Everything is of lists in sorted coordinates. With logits l_ij, P = softmax_j(l) and a form sum_ij u_i P_ij w_j, whose
gradient with respect to l_ij is `A_ij = P_ij u_i (w_j - (P w)_i)`, one walk over rows gives P w, and one over columns
P^T u and the sums of A that the gradient of the scores is made of.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops._bands import BLOCK, blocks_of, sum_over
from keras_softsort.ops._neural_sort_band import NeuralSortBand, neural_sort_band
from keras_softsort.ops._order import OrderedLists, take


class Rows(NamedTuple):
    """What a walk over rows gives, by blocks."""

    valid: tf.Tensor  # [blocks, BLOCK, 1]: 1 where the item and the rank are not masked, else 0
    products: tf.Tensor  # [blocks, BLOCK, d]: P w
    norms: tf.Tensor  # [blocks, BLOCK, 1]: 1 / the sum of a row's weights; 0 for rows that are none


def multiply(lists: OrderedLists, values: tf.Tensor, eps: float) -> tf.Tensor:
    """P @ values for `values` [L, n, d], 0 where masked: [L, n, d], 0 at ranks of masked items."""

    @tf.custom_gradient
    def product(scores: tf.Tensor, tau: tf.Tensor, values: tf.Tensor) -> tuple:
        band, valid = _band(lists, scores, tau, eps)
        sorted_values = band.blocks.cut(take(values, lists.order))
        rows = _walk_rows(band, valid, sorted_values)

        def gradient(upstream: tf.Tensor) -> tuple:
            left = band.blocks.cut(upstream)
            sums, logits = _walk_columns(band, rows, left, sorted_values)
            d_values = take(band.blocks.join(sums), lists.ranks)
            return *_to_scores(lists, scores, tau, logits, band), d_values

        return band.blocks.join(rows.products), gradient

    return product(lists.scores, lists.tau, values)


def multiply_transposed(lists: OrderedLists, values: tf.Tensor, eps: float) -> tf.Tensor:
    """P^T @ values for `values` [L, n, d], one row a rank: [L, n, d], 0 for masked items."""

    @tf.custom_gradient
    def product(scores: tf.Tensor, tau: tf.Tensor, values: tf.Tensor) -> tuple:
        band, valid = _band(lists, scores, tau, eps)
        left = band.blocks.cut(values)
        nothing = tf.zeros_like(left[:, :, :0])
        sums, _ = _walk_columns(band, _walk_rows(band, valid, nothing), left, nothing)

        def gradient(upstream: tf.Tensor) -> tuple:
            right = band.blocks.cut(take(upstream, lists.order))
            rows = _walk_rows(band, valid, right)
            _, logits = _walk_columns(band, rows, left, right)
            return *_to_scores(lists, scores, tau, logits, band), band.blocks.join(rows.products)

        return take(band.blocks.join(sums), lists.ranks), gradient

    return product(lists.scores, lists.tau, values)


def _band(lists: OrderedLists, scores: tf.Tensor, tau: tf.Tensor, eps: float) -> tuple[NeuralSortBand, tf.Tensor]:
    """The band, and whether each place [blocks, BLOCK, 1] is one of an unmasked item, 1 or 0."""
    blocks = blocks_of(scores)
    kept = tf.ones_like(scores) if lists.mask is None else tf.cast(lists.mask, scores.dtype)
    valid = blocks.cut(take(kept, lists.order)[:, :, tf.newaxis])
    ordered = tf.cast(take(scores, lists.order), tf.float64)
    last = tf.reduce_sum(tf.cast(kept, tf.int32), axis=1, keepdims=True) - 1
    least = take(ordered, tf.maximum(last, 0))
    ordered = tf.where(tf.range(blocks.size) <= last, ordered, least)
    cut = tf.math.log(tf.cast(blocks.size, tf.float64)) - math.log(eps)
    return neural_sort_band(blocks, ordered, tf.cast(tau, tf.float64), cut), valid


def _walk_rows(band: NeuralSortBand, valid: tf.Tensor, values: tf.Tensor) -> Rows:
    """Of `values` [blocks, BLOCK, d] of the items, 0 where masked."""
    weighted = tf.concat([values, valid], axis=-1)
    columns = tf.shape(weighted)[-1]

    def pair_sums(rows: tf.Tensor, items: tf.Tensor) -> tf.Tensor:
        return tf.matmul(band.weights(rows, items, values.dtype), tf.gather(weighted, items))

    sums = sum_over(band.columns_of, pair_sums, columns, values.dtype)
    norms = tf.math.divide_no_nan(valid, sums[:, :, -1:])
    return Rows(valid, sums[:, :, :-1] * norms, norms)


def _walk_columns(
    band: NeuralSortBand, rows: Rows, left: tf.Tensor, right: tf.Tensor
) -> tuple[tf.Tensor, tuple[tf.Tensor, tf.Tensor]]:
    """P^T u of `left` u [blocks, BLOCK, d] of the ranks; of A with `right` w: sum_i A_ij, and sum_i A_ij (i - j)."""
    depth = tf.shape(left)[-1]
    place = tf.range(BLOCK, dtype=right.dtype)[:, tf.newaxis]

    def pair_sums(items: tf.Tensor, ranks: tf.Tensor) -> tf.Tensor:
        scaled = tf.gather(left * rows.norms, ranks)
        # Relative to one of the block's values: what is equal to them all moves nothing, to the last digit.
        relative = tf.gather(rows.products, ranks) - tf.gather(right[:, :1], items)
        both = tf.concat([scaled, tf.reduce_sum(scaled * relative, axis=-1, keepdims=True)], axis=-1)
        apart = tf.cast((ranks - items) * BLOCK, right.dtype)[:, tf.newaxis, tf.newaxis] + place
        weights = band.weights(ranks, items, right.dtype, transposed=True)
        return tf.matmul(weights, tf.concat([both, apart * both], axis=-1))

    sums = rows.valid * sum_over(band.rows_of, pair_sums, 2 * depth + 2, right.dtype)
    relative = right - right[:, :1]

    def of_logits(sums: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(relative * sums[:, :, :-1], axis=-1) - sums[:, :, -1]

    total, moment = of_logits(sums[:, :, : depth + 1]), of_logits(sums[:, :, depth + 1 :])
    return sums[:, :, :depth], (total, moment - place[:, 0] * total)


def _to_scores(
    lists: OrderedLists,
    scores: tf.Tensor,
    tau: tf.Tensor,
    logits: tuple[tf.Tensor, tf.Tensor],
    band: NeuralSortBand,
) -> tuple[tf.Tensor, tf.Tensor]:
    """The gradients of scores and temperature, as `_dense_neural_sort` has them."""
    total, moment = (tf.cast(band.blocks.join(each), tf.float64) for each in logits)
    first, last = lists.ties()
    place = tf.range(tf.shape(scores)[1])
    tied = tf.cast(first + last - 2 * place, tf.float64)
    above = take(tf.cumsum(total, axis=-1, exclusive=True), first)
    not_below = take(tf.cumsum(total, axis=-1), last)
    ordered = tied * total - 2 * moment + above + not_below
    d_scores = take(tf.cast(ordered, scores.dtype), lists.ranks) / tau
    middle = tf.stop_gradient(tf.reduce_mean(scores, axis=-1, keepdims=True))
    return d_scores, -tf.reduce_sum(d_scores * (scores - middle), axis=-1, keepdims=True) / tau
