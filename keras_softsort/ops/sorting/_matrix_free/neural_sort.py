"""Products with NeuralSort's matrix from the blocks of it that matter, in sorted coordinates: O(n) memory.

With x_0 >= x_1 >= ... and the gaps d_p = x_p - x_{p+1}, the logit of row i and the item at rank j is below the largest
of the row, which is at j = i, by

    drop(i, j) = F_j - F_i - 2 i (G_j - G_i) >= 0,    G_j = sum_{p < j} d_p,    F_j = sum_{p < j} (2 p + 1) d_p.

It grows with the distance of j from i on both sides. So the smallest drop between a block of rows and a block of
columns is the one at the corner where they are closest.

Exponentials are computed in the requested dtype, and their sums in float64, because prefix sums over the whole list
accumulate rounding errors of sums that are 0.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.lists import take
from keras_softsort.ops.sorting._matrix_free.block_sums import (
    BLOCK,
    BlockedLists,
    BlockRange,
    block_range,
    blocks_of,
    outer,
    sum_over_blocks,
)
from keras_softsort.ops.sorting._matrix_free.products import MatrixFreeProducts, sorted_scores
from keras_softsort.ops.sorting._ordering import MAX_GAP, OrderedLists


def neural_sort_products(
    lists: OrderedLists, scores: tf.Tensor, tau: tf.Tensor, eps: float | None
) -> MatrixFreeProducts:
    """The products of `lists` with these scores and temperatures, without up to `eps` of the weight of a row."""
    ordered, valid = sorted_scores(lists, scores, tau)
    blocks = blocks_of(scores)
    units = blocks.extend(ordered / tf.cast(tau, tf.float64))
    # A row leaves out fewer than n weights, each at most exp(-cut) times its largest.
    eps = eps or (2.0**-60 if scores.dtype == tf.float64 else 2.0**-30)
    band = neural_sort_band(blocks, units, tf.math.log(tf.cast(blocks.size, tf.float64) / eps), scores.dtype)

    def cut(values: tf.Tensor) -> tf.Tensor:
        return blocks.cut(tf.cast(values, tf.float64))

    def products(values: tf.Tensor) -> tuple[tf.Tensor, BandedRows]:
        rows = _walk_rows(band, cut(valid), cut(values))
        return blocks.join(rows.products), rows

    def transposed(rows: BandedRows, left: tf.Tensor) -> tf.Tensor:
        return blocks.join(_walk_transposed(band, rows, cut(left)))

    def gradient(rows: BandedRows, left: tf.Tensor, right: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        sums, logits = _walk_columns(band, rows, cut(left), cut(right))
        return blocks.join(sums), _gradient_of_scores(lists, blocks.join(logits.total), blocks.join(logits.moment))

    return MatrixFreeProducts(products, transposed, gradient)


class NeuralSortBand(NamedTuple):
    """Prefix sums of the gaps in units of tau, in float64, by blocks."""

    blocks: BlockedLists
    dtype: tf.DType  # of the exponentials
    linear: tf.Tensor  # [blocks, BLOCK]: F
    gaps: tf.Tensor  # [blocks, BLOCK]: G
    columns_of: BlockRange  # of each block of rows
    rows_of: BlockRange  # of each block of columns

    def weights(self, rows: tf.Tensor, columns: tf.Tensor, transposed: bool = False) -> tf.Tensor:
        """exp(-drop) of pairs of blocks [T] and [T]: [T, BLOCK of rows, BLOCK of columns], or the other way round."""
        start = tf.cast((rows % self.blocks.per_list) * BLOCK, tf.float64)[:, tf.newaxis]
        first_linear, first_gap = (tf.gather(sums[:, :1], rows) for sums in (self.linear, self.gaps))

        def relative(numbers: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            """To the first of the rows, so that what is subtracted is small."""
            apart = tf.gather(self.gaps, numbers) - first_gap
            return tf.gather(self.linear, numbers) - first_linear - 2 * start * apart, apart

        linear, gaps = relative(rows)
        other_linear, other_gaps = relative(columns)
        twice = tf.range(0, 2 * BLOCK, 2, tf.float64)[tf.newaxis]
        rise = outer(tf.subtract, linear - twice * gaps, other_linear, transposed)
        rise += outer(tf.multiply, twice, other_gaps, transposed)
        return tf.cast(tf.exp(tf.cast(rise, self.dtype)), tf.float64)

    def offsets(self, rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
        """The distance of each rank of a block from the first rank of a block of items: [T, BLOCK, 1]."""
        return tf.cast((rows - columns) * BLOCK, tf.float64)[:, tf.newaxis, tf.newaxis] + _positions()

    def own_offsets(self) -> tf.Tensor:
        """The distance of each item from the first of its block: [1, BLOCK]."""
        return tf.transpose(_positions())


def neural_sort_band(blocks: BlockedLists, scores: tf.Tensor, cut: tf.Tensor, dtype: tf.DType) -> NeuralSortBand:
    """The band for descending `scores` [L, padded n] in float64, in units of tau. Drops beyond `cut` are left out."""
    # Gaps are clipped where all weights across them are 0, which keeps the precision of the others. A gap of only `cut`
    # would leave weights that matter if they are multiplied by values far apart.
    gaps = tf.minimum(scores[:, :-1] - scores[:, 1:], tf.maximum(cut, MAX_GAP[dtype]))
    rank = tf.cast(tf.range(tf.shape(gaps)[1]), tf.float64)

    def prefix_sums(values: tf.Tensor) -> tf.Tensor:
        return tf.reshape(tf.cumsum(tf.pad(values, [[0, 0], [1, 0]]), axis=1), [-1, BLOCK])

    linear, total = prefix_sums((2 * rank + 1) * gaps), prefix_sums(gaps)

    def within_cutoff(rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
        """Whether the closest corner of a block of rows and one of columns is within the cut."""
        row = tf.where(columns < rows, 0, BLOCK - 1)
        rise, apart = (
            tf.gather_nd(sums, tf.stack([columns, BLOCK - 1 - row], axis=-1))
            - tf.gather_nd(sums, tf.stack([rows, row], axis=-1))
            for sums in (linear, total)
        )
        rank = tf.cast((rows % blocks.per_list) * BLOCK + row, tf.float64)
        return tf.logical_or(tf.equal(rows, columns), rise - 2 * rank * apart <= cut)

    return NeuralSortBand(
        blocks,
        dtype,
        linear,
        total,
        block_range(blocks, within_cutoff),
        block_range(blocks, lambda columns, rows: within_cutoff(rows, columns)),
    )


def _positions() -> tf.Tensor:
    return tf.range(BLOCK, dtype=tf.float64)[:, tf.newaxis]


class BandedRows(NamedTuple):
    """The products with values, in blocks, and what their gradient needs."""

    valid: tf.Tensor  # [blocks, BLOCK, 1]: 1 where the item and the rank are not masked, else 0
    means: tf.Tensor  # [blocks, BLOCK, d]: P w, less the first w of the block
    products: tf.Tensor  # [blocks, BLOCK, d]: P w
    norms: tf.Tensor  # [blocks, BLOCK, 1]: 1 / the sum of a row's weights; 0 for a rank of masked items


class LogitSums(NamedTuple):
    """Sums over the gradient A_ij with respect to the logits, of each item j: [blocks, BLOCK]."""

    total: tf.Tensor  # sum_i A_ij
    moment: tf.Tensor  # sum_i A_ij (m_i - m_j), m the band's moments


def _walk_rows(band: NeuralSortBand, valid: tf.Tensor, values: tf.Tensor) -> BandedRows:
    """P w of `values` w [blocks, BLOCK, d] of the items, 0 where masked."""

    def pair_sums(rows: tf.Tensor, items: tf.Tensor) -> tf.Tensor:
        return tf.matmul(band.weights(rows, items), _relative(valid, values, rows, items))

    sums = sum_over_blocks(band.columns_of, pair_sums, tf.shape(values)[-1] + 1)
    masked = tf.equal(valid, 0)
    norms = tf.where(masked, tf.zeros_like(valid), valid / tf.where(masked, tf.ones_like(valid), sums[:, :, -1:]))
    means = tf.where(masked, tf.zeros_like(values), sums[:, :, :-1] * norms)
    return BandedRows(valid, means, tf.where(masked, means, means + values[:, :1]), norms)


def _relative(valid: tf.Tensor, values: tf.Tensor, rows: tf.Tensor, items: tf.Tensor) -> tf.Tensor:
    """Values of blocks of items less the first of each block of rows, and 1; 0 where masked: [T, BLOCK, d + 1].

    For sorted scores the differences are small where the weights are large, so their precision is not lost.
    """
    valid = tf.gather(valid, items)
    return valid * tf.concat([tf.gather(values, items) - tf.gather(values[:, :1], rows), tf.ones_like(valid)], axis=-1)


def _walk_transposed(band: NeuralSortBand, rows: BandedRows, left: tf.Tensor) -> tf.Tensor:
    """P^T u of `left` u [blocks, BLOCK, d] of the ranks."""
    scaled = left * rows.norms

    def pair_sums(items: tf.Tensor, ranks: tf.Tensor) -> tf.Tensor:
        return tf.matmul(band.weights(ranks, items, transposed=True), tf.gather(scaled, ranks))

    return rows.valid * sum_over_blocks(band.rows_of, pair_sums, tf.shape(left)[-1])


def _walk_columns(
    band: NeuralSortBand, rows: BandedRows, left: tf.Tensor, right: tf.Tensor
) -> tuple[tf.Tensor, LogitSums]:
    """P^T u of `left` u [blocks, BLOCK, d] of the ranks, and of A_ij = P_ij u_i (w_j - (P w)_i) with `right` w."""
    depth = tf.shape(left)[-1]

    def pair_sums(items: tf.Tensor, ranks: tf.Tensor) -> tf.Tensor:
        scaled = tf.gather(left * rows.norms, ranks)
        relative = tf.gather(rows.means, ranks) + (tf.gather(right[:, :1], ranks) - tf.gather(right[:, :1], items))
        both = tf.concat([scaled, tf.reduce_sum(scaled * relative, axis=-1, keepdims=True)], axis=-1)
        moments = band.offsets(ranks, items)
        weights = band.weights(ranks, items, transposed=True)
        return tf.matmul(weights, tf.concat([both, moments * both], axis=-1))

    sums = rows.valid * sum_over_blocks(band.rows_of, pair_sums, 2 * depth + 2)
    relative = right - right[:, :1]

    def of_logits(sums: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(relative * sums[:, :, :-1], axis=-1) - sums[:, :, -1]

    total, moment = of_logits(sums[:, :, : depth + 1]), of_logits(sums[:, :, depth + 1 :])
    return sums[:, :, :depth], LogitSums(total, moment - band.own_offsets() * total)


def _gradient_of_scores(lists: OrderedLists, total: tf.Tensor, moment: tf.Tensor) -> tf.Tensor:
    """The gradient of the scores, times tau: the effect on their own logits, and by running sums on all others."""
    first, last = lists.ties()
    tied = tf.cast(first + last - 2 * tf.range(tf.shape(first)[1]), tf.float64)
    above = take(tf.cumsum(total, axis=-1, exclusive=True), first)
    not_below = take(tf.cumsum(total, axis=-1), last)
    return take(tied * total - 2 * moment + above + not_below, lists.ranks)
