"""NeuralSort in sorted coordinates without its matrix: how far each logit falls short of its row's peak, by blocks.

With x_0 >= x_1 >= ... and the gaps d_p = x_p - x_{p+1}, the logit of row i and the item at rank j falls short of the
row's peak, which is at j = i, by

    drop(i, j) = F_j - F_i - 2 i (G_j - G_i) >= 0,    G_j = sum_{p < j} d_p,    F_j = sum_{p < j} (2 p + 1) d_p,

which grows with the distance of j from i on either side, and from row to row the other way: what a block of rows and
one of columns have at least between them is the drop at the corner where they are closest.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops._bands import BLOCK, Blocks, Window, window


class NeuralSortBand(NamedTuple):
    """Prefix sums of the gaps in units of tau, in float64, by blocks."""

    blocks: Blocks
    linear: tf.Tensor  # [blocks, BLOCK]: F
    gaps: tf.Tensor  # [blocks, BLOCK]: G
    columns_of: Window  # of each block of rows
    rows_of: Window  # of each block of columns

    def weights(self, rows: tf.Tensor, columns: tf.Tensor, dtype: tf.DType, transposed: bool = False) -> tf.Tensor:
        """exp(-drop) of pairs of blocks [T] and [T]: [T, BLOCK of rows, BLOCK of columns], or the other way round."""
        start = tf.cast((rows % self.blocks.per_list) * BLOCK, tf.float64)[:, tf.newaxis]
        linear, gaps = tf.gather(self.linear, rows), tf.gather(self.gaps, rows)
        other_linear, other_gaps = tf.gather(self.linear, columns), tf.gather(self.gaps, columns)
        # Relative to the first of the rows, so that what is subtracted is small.
        first_linear, first_gap = linear[:, :1], gaps[:, :1]
        linear, gaps = linear - first_linear - 2 * start * (gaps - first_gap), gaps - first_gap
        other_linear = other_linear - first_linear - 2 * start * (other_gaps - first_gap)
        other_gaps = other_gaps - first_gap
        place = tf.range(BLOCK, dtype=tf.float64)
        row, column = (-1, -2) if transposed else (-2, -1)

        def along(values: tf.Tensor, axis: int) -> tf.Tensor:
            return tf.expand_dims(values, -3 - axis)

        own = along(linear - 2 * place * gaps, row)
        rise = own - along(other_linear, column) + along(2 * place[tf.newaxis], row) * along(other_gaps, column)
        return tf.exp(tf.cast(rise, dtype))


def neural_sort_band(blocks: Blocks, scores: tf.Tensor, tau: tf.Tensor, cut: tf.Tensor) -> NeuralSortBand:
    """Of descending `scores` [L, n] in float64 and `tau` [L, 1]; drops beyond `cut` are left out."""
    scores = blocks.extend(scores) / tau
    # Nothing is seen across a gap of `cut`: one of any size is as good, and loses no digits of the others.
    gaps = tf.minimum(scores[:, :-1] - scores[:, 1:], cut)
    place = tf.cast(tf.range(tf.shape(gaps)[1]), tf.float64)

    def prefix_sums(values: tf.Tensor) -> tf.Tensor:
        return tf.reshape(tf.cumsum(tf.pad(values, [[0, 0], [1, 0]]), axis=1), [-1, BLOCK])

    linear, total = prefix_sums((2 * place + 1) * gaps), prefix_sums(gaps)

    def nearest(rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
        """Whether the nearest corner of a block of rows and one of columns is within the cut."""
        before = columns < rows
        row = tf.where(before, 0, BLOCK - 1)
        column = BLOCK - 1 - row

        def at(sums: tf.Tensor, number: tf.Tensor, place: tf.Tensor) -> tf.Tensor:
            return tf.gather_nd(sums, tf.stack([number, place], axis=-1))

        place = tf.cast((rows % blocks.per_list) * BLOCK + row, tf.float64)
        rise, apart = (at(sums, columns, column) - at(sums, rows, row) for sums in (linear, total))
        return tf.logical_or(tf.equal(rows, columns), rise - 2 * place * apart <= cut)

    return NeuralSortBand(
        blocks, linear, total, window(blocks, nearest), window(blocks, lambda columns, rows: nearest(rows, columns))
    )
