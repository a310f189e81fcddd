"""Products with NeuralSort's matrix from the blocks of it that matter, in sorted coordinates: O(n) memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.numbers import running_sums
from keras_softsort.ops.core.order import take
from keras_softsort.ops.sorting._matrix_free import block_sums
from keras_softsort.ops.sorting._matrix_free.block_sums import BLOCK, BlockedLists, BlockRange
from keras_softsort.ops.sorting._matrix_free.products import normalized, sorted_scores
from keras_softsort.ops.sorting._ordering import MAX_GAP, OrderedLists


# With x_0 >= x_1 >= ... and the gaps d_p = x_p - x_{p+1}, the logit of row i and the item at rank j is below the
# largest of the row, which is at j = i, by
#
#     drop(i, j) = F_j - F_i - 2 i (G_j - G_i) >= 0,    G_j = sum_{p < j} d_p,    F_j = sum_{p < j} (2 p + 1) d_p.
#
# It grows with the distance of j from i, so two blocks are closest at a corner. Exponentials are computed in the
# requested dtype, and sums in float64, because prefix sums accumulate rounding errors.
class NeuralSortBand(NamedTuple):
    """Prefix sums of the gaps in units of tau, in float64, by blocks."""

    blocks: BlockedLists
    dtype: tf.DType  # of the exponentials
    linear: tf.Tensor  # [blocks, BLOCK]: F
    gaps: tf.Tensor  # [blocks, BLOCK]: G
    columns_of: BlockRange  # of each block of rows
    rows_of: BlockRange  # of each block of columns

    def weights(self, rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
        """exp(-drop) of pairs of blocks [T] and [T]: [T, BLOCK of rows, BLOCK of columns]."""
        start = tf.cast((rows % self.blocks.per_list) * BLOCK, tf.float64)[:, tf.newaxis]
        first_linear, first_gap = (tf.gather(sums[:, :1], rows) for sums in (self.linear, self.gaps))

        def relative(numbers: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            """Prefix sums relative to the first of the rows, to limit cancellation."""
            apart = tf.gather(self.gaps, numbers) - first_gap
            return tf.gather(self.linear, numbers) - first_linear - 2 * start * apart, apart

        linear, gaps = relative(rows)
        other_linear, other_gaps = relative(columns)
        twice = tf.range(0, 2 * BLOCK, 2, tf.float64)
        rise = (linear - twice * gaps)[:, :, tf.newaxis] - other_linear[:, tf.newaxis, :]
        rise += twice[:, tf.newaxis] * other_gaps[:, tf.newaxis, :]
        return tf.cast(tf.exp(tf.cast(rise, self.dtype)), tf.float64)


def neural_sort_band(blocks: BlockedLists, scores: tf.Tensor, cut: tf.Tensor, dtype: tf.DType) -> NeuralSortBand:
    """The band for descending `scores` [L, padded n] in float64, in units of tau. Drops beyond `cut` are left out."""
    # Gaps are clipped where all weights across them are 0, which keeps the precision of the others. A gap of only `cut`
    # would leave weights that matter if they are multiplied by values far apart.
    gaps = tf.minimum(scores[:, :-1] - scores[:, 1:], tf.maximum(cut, MAX_GAP[dtype]))
    rank = tf.cast(tf.range(tf.shape(gaps)[1]), tf.float64)

    def prefix_sums(values: tf.Tensor) -> tf.Tensor:
        return tf.reshape(running_sums(tf.pad(values, [[0, 0], [1, 0]])), [-1, BLOCK])

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
        block_sums.block_range(blocks, within_cutoff),
        block_sums.block_range(blocks, lambda columns, rows: within_cutoff(rows, columns)),
    )


class NeuralSortProducts(NamedTuple):
    """NeuralSort's matrix P of sorted lists, in blocks."""

    lists: OrderedLists
    band: NeuralSortBand
    valid: tf.Tensor  # [blocks, BLOCK, 1]: 1 where the item and the rank are not masked, else 0

    def products(self, values: tf.Tensor) -> tuple[tf.Tensor, BandedRows]:
        """P w of `values` w [L, n, d] of the items, 0 where masked."""
        values = self._cut(values)

        def pair_sums(rows: tf.Tensor, items: tf.Tensor) -> tf.Tensor:
            # For sorted scores the differences are small where the weights are large, so their precision is not lost.
            apart = tf.gather(values, items) - tf.gather(values[:, :1], rows)
            valid = tf.gather(self.valid, items)
            return tf.matmul(self.band.weights(rows, items), valid * tf.concat([apart, tf.ones_like(valid)], axis=-1))

        sums = block_sums.sum_over_blocks(self.band.columns_of, pair_sums, tf.shape(values)[-1] + 1)
        rows = BandedRows(*normalized(sums, self.valid, values[:, :1]))
        return self.band.blocks.join(rows.products), rows

    def transposed(self, rows: BandedRows, left: tf.Tensor) -> tf.Tensor:
        """P^T u of `left` u [L, n, d] of the ranks."""
        scaled = self._cut(left) * rows.norms

        def pair_sums(items: tf.Tensor, ranks: tf.Tensor) -> tf.Tensor:
            return tf.matmul(self.band.weights(ranks, items), tf.gather(scaled, ranks), transpose_a=True)

        return self.band.blocks.join(self.valid * self._sum_over_ranks(pair_sums, tf.shape(left)[-1]))

    def gradient(self, rows: BandedRows, left: tf.Tensor, right: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """P^T u of `left` u, and the gradient of `sum_ij u_i P_ij w_j` with `right` w for the scores, times tau.

        It is made of sums of A_ij = P_ij u_i (w_j - (P w)_i).
        """
        depth, join = tf.shape(left)[-1], self.band.blocks.join
        scaled, right = self._cut(left) * rows.norms, self._cut(right)
        first, positions = right[:, :1], tf.range(BLOCK, dtype=tf.float64)

        def pair_sums(items: tf.Tensor, ranks: tf.Tensor) -> tf.Tensor:
            own = tf.gather(scaled, ranks)
            means = tf.gather(rows.products, ranks) - tf.gather(first, items)
            both = tf.concat([own, tf.reduce_sum(own * means, axis=-1, keepdims=True)], axis=-1)
            # The distance of each rank from the first of the items.
            distance = tf.cast((ranks - items) * BLOCK, tf.float64)[:, tf.newaxis, tf.newaxis]
            moments = (distance + positions[:, tf.newaxis]) * both
            return tf.matmul(self.band.weights(ranks, items), tf.concat([both, moments], axis=-1), transpose_a=True)

        sums = self.valid * self._sum_over_ranks(pair_sums, 2 * depth + 2)

        def of_logits(sums: tf.Tensor) -> tf.Tensor:
            return tf.reduce_sum((right - first) * sums[:, :, :-1], axis=-1) - sums[:, :, -1]

        # `total` is sum_i A_ij and `moment` is sum_i A_ij (i - j), for each item j.
        total, moment = of_logits(sums[:, :, : depth + 1]), of_logits(sums[:, :, depth + 1 :])
        total, moment = join(total), join(moment - positions * total)
        # The effect of a score on its own logits, and by running sums on all others.
        first_tied, last_tied = self.lists.ties()
        tied = tf.cast(first_tied + last_tied - 2 * tf.range(tf.shape(total)[1]), tf.float64)
        sums_of_totals = running_sums(total)
        above = take(sums_of_totals - total, first_tied)
        not_below = take(sums_of_totals, last_tied)
        return join(sums[:, :, :depth]), take(tied * total - 2 * moment + above + not_below, self.lists.ranks)

    def _cut(self, values: tf.Tensor) -> tf.Tensor:
        return self.band.blocks.cut(tf.cast(values, tf.float64))

    def _sum_over_ranks(self, pair_sums: Callable[[tf.Tensor, tf.Tensor], tf.Tensor], columns: tf.Tensor) -> tf.Tensor:
        return block_sums.sum_over_blocks(self.band.rows_of, pair_sums, columns)


class BandedRows(NamedTuple):
    """The products with values, in blocks, and what their gradient needs."""

    products: tf.Tensor  # [blocks, BLOCK, d]: P w
    norms: tf.Tensor  # [blocks, BLOCK, 1]: 1 / the sum of a row's weights; 0 for a rank of masked items


def neural_sort_products(
    lists: OrderedLists, scores: tf.Tensor, tau: tf.Tensor, eps: float | None
) -> NeuralSortProducts:
    """The products of `lists` with these scores and temperatures, without up to `eps` of the weight of a row."""
    ordered, valid = sorted_scores(lists, scores, tau)
    blocks = block_sums.blocks_of(scores)
    units = blocks.extend(ordered / tf.cast(tau, tf.float64))
    # A row leaves out fewer than n weights, each at most exp(-cut) times its largest.
    eps = eps or (2.0**-60 if scores.dtype == tf.float64 else 2.0**-30)
    band = neural_sort_band(blocks, units, tf.math.log(tf.cast(blocks.size, tf.float64) / eps), scores.dtype)
    return NeuralSortProducts(lists, band, blocks.cut(valid))
