"""How far NeuralSort's logits fall short of their row's peak, in sorted coordinates: a sort and two cumulative sums.

With x_0 >= x_1 >= ... in units of tau and the gaps d_p = x_{p-1} - x_p, row i's peak is the item of rank i, and the
item of rank a falls short of it by

    gap(i, a) = F_a - F_i - (2 i - n) (G_a - G_i) >= 0,
    F_a = sum_{p <= a} (2 p - 1 - n) d_p,    G_a = sum_{p <= a} d_p.

No weight is seen across a very large d_p, so such a d_p is cut to a size that hides nothing, and costs the others no
digits. The sums of float32 scores are taken as pairs: high parts on a common grid, on which all of the formula is
exact, and small low parts. The pairs are float32 for lists of up to `two_parts.MAX_SIZE` items, and cut from float64
sums for longer ones.

Only one row of each block of consecutive rows is computed so: a row that lies k ranks behind has the logits of that
one, plus `2 k (G_a - G_i)`.
"""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.lists import take
from keras_softsort.ops.sorting._dense.row_blocks import row_blocks
from keras_softsort.ops.sorting._dense.soft_rows import LogitGradient
from keras_softsort.ops.sorting._dense.two_parts import MAX_SIZE, grid
from keras_softsort.ops.sorting._ordering import MAX_GAP, OrderedLists, in_temperatures

# Consecutive rows whose logits are computed relative to those of the middle one, and whose gradients are summed
# relative to it: more would cost digits.
MAX_HEIGHT = 8
MAX_HEIGHT_SUMMED = 128
# The largest gap of a logarithm of a weight, which does not overflow.
MAX_GAP_LOG = {tf.float32: 1e28, tf.float64: 1e280}
# The largest gap that is represented by two float32 parts; the excess of a larger gap is added in one part.
MAX_GAP_OF_PARTS = 1e4


class PrefixSumLogitGaps:
    """Logits, and their gradient, of the rows `rows` [B, r] of `lists`; `consecutive` if their ranks are."""

    peaks_at_zero = False

    def __init__(self, lists: OrderedLists, rows: tf.Tensor, consecutive: bool, log: bool = False) -> None:
        self.lists, self.rows, self.log = lists, rows, log
        self.blocks = row_blocks(rows, consecutive, MAX_HEIGHT)
        self.summed_blocks = row_blocks(rows, consecutive, MAX_HEIGHT_SUMMED)
        # Tied items share the rank of the first of them, so that their weights are equal to the last bit.
        self.first, self.last = lists.ties()

    def logits(self, scores: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
        """`-gap` of `scores`, those of the lists, up to a small number that a row has in common: [B, r, n]."""
        size = scores.shape[1]
        if scores.dtype == tf.float32 and size is not None and size <= MAX_SIZE:
            return self._of_float32(scores, tau)
        descending = in_temperatures(take(scores, self.lists.order_of_valid()), tau)
        max_gap = (MAX_GAP_LOG if self.log else MAX_GAP)[scores.dtype]
        gaps = tf.minimum(_drops(descending), tf.constant(max_gap, tf.float64))
        sums = self._prefix_sums(gaps)
        if scores.dtype == tf.float64:
            return self._rows([sums])
        high = _on_grid(sums, tf.cast(tf.shape(scores)[1], tf.float64))
        return self._rows([tf.cast(high, scores.dtype), tf.cast(high - sums, scores.dtype)])

    def gradient(self, d_logits: LogitGradient) -> tf.Tensor:
        """The gradient of the scores [B, n], in units of tau."""
        ranks, blocks, dtype = self.lists.ranks, self.summed_blocks, d_logits.slopes.dtype
        sums, behind = d_logits.map(blocks.split).column_sums(None, tf.cast(2 * blocks.offsets, dtype))
        tied = tf.cast(take(self.first + self.last, ranks), dtype)[:, tf.newaxis, :]
        centers = tf.cast(2 * blocks.centers, dtype)[:, :, tf.newaxis]
        direct = tf.reduce_sum(sums * (tied - centers) - behind, axis=1)
        # sum_j c_j sign(x_j - x_k), c_j = sum_i d_logits_ij, by prefix sums; sum_j c_j = 0.
        column = take(tf.reduce_sum(sums, axis=1), self.lists.order)
        above = take(tf.cumsum(column, axis=-1, exclusive=True), self.first)
        not_below = take(tf.cumsum(column, axis=-1), self.last)
        return direct + take(above + not_below, ranks)

    def _of_float32(self, scores: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
        """The same in float32 alone."""
        size = scores.shape[1]
        drops = _drops(take(scores, self.lists.order_of_valid())) / tau
        max_gap = MAX_GAP_OF_PARTS if self.log else MAX_GAP[tf.float32]
        # A minimum might lose the NaN of a list that is not a number.
        gaps = tf.where(drops > max_gap, tf.constant(max_gap, drops.dtype), drops)
        total = tf.cumsum(gaps, axis=1)
        step = grid(total[:, -1:], size)
        high = _steps(tf.round(total / step) * step)
        logits = self._rows(tf.unstack(self._prefix_sums(tf.stack([high, high - gaps]))))
        if not self.log:
            return logits
        beyond = tf.minimum(drops, MAX_GAP_LOG[tf.float32]) - gaps
        return logits + self._beyond(self._prefix_sums(beyond))

    def _prefix_sums(self, gaps: tf.Tensor) -> tf.Tensor:
        """F and G of `gaps` [..., B, n]: [..., 2, B, n]."""
        size = gaps.shape[-1] or tf.shape(gaps)[-1]
        factors = tf.cast(2 * tf.range(size) - 1 - size, gaps.dtype)
        return tf.cumsum(tf.stack([factors * gaps, gaps], axis=-3), axis=-1)

    def _rows(self, parts: list[tf.Tensor]) -> tf.Tensor:
        """The logits of sums, less those of other sums if there are any: [B, r, n]."""
        # Differences only: TensorFlow's graph optimizer would regroup sums, and what is exact would be no longer.
        logits, slopes = self._centers(parts[0])
        for others in parts[1:]:
            less, flatter = self._centers(others)
            logits, slopes = logits - less, slopes - flatter
        if self.blocks.height == 1:
            return logits
        behind = tf.cast(2 * self.blocks.offsets, logits.dtype)[:, tf.newaxis]
        return self.blocks.join(logits[:, :, tf.newaxis, :] + behind * slopes[:, :, tf.newaxis, :])

    def _centers(self, sums: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """`(2 i - n) (G_a - G_i) - (F_a - F_i)` and `G_a - G_i` for the center i of each block: [B, blocks, n]."""
        linear, total = tf.unstack(sums)
        factor = tf.cast(2 * self.blocks.centers - tf.shape(sums)[2], sums.dtype)
        item_first, row_first = take(self.first, self.lists.ranks), take(self.first, self.blocks.centers)
        peak_linear, peak_total = take(linear, row_first), take(total, row_first)
        at_peak = factor * peak_total - peak_linear
        item_linear, item_total = (take(each, item_first)[:, tf.newaxis, :] for each in (linear, total))
        logits = factor[:, :, tf.newaxis] * item_total - item_linear - at_peak[:, :, tf.newaxis]
        return logits, item_total - peak_total[:, :, tf.newaxis]

    def _beyond(self, sums: tf.Tensor) -> tf.Tensor:
        """The same as the logits, by differences that are 0 on one side of a gap: [B, r, n]."""
        linear, total = tf.unstack(sums)
        item_first, row_first = take(self.first, self.lists.ranks), take(self.first, self.rows)
        factor = tf.cast(2 * self.rows - tf.shape(sums)[2], sums.dtype)[:, :, tf.newaxis]
        linear, total = (
            take(each, item_first)[:, tf.newaxis, :] - take(each, row_first)[:, :, tf.newaxis]
            for each in (linear, total)
        )
        return factor * total - linear


def _drops(descending: tf.Tensor) -> tf.Tensor:
    """How far each number [B, n] is below the one before it; 0 for the first."""
    return tf.concat([descending[:, :1], descending[:, :-1]], axis=1) - descending


def _steps(sums: tf.Tensor) -> tf.Tensor:
    """What each number [B, n] is above the one before it; 0 for the first, which is 0."""
    return sums - tf.concat([sums[:, :1], sums[:, :-1]], axis=1)


def _on_grid(sums: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """`sums` [2, B, n] rounded to multiples of a number per list, so coarse that float32 adds and scales them exactly.

    No term of the formula is above 2 n G, of which 24 bits are left: adding 2^29 times as much rounds the others away.
    """
    shift = tf.stop_gradient(2.0**30 * size * sums[1, :, -1:])
    return tf.stop_gradient((sums + shift) - shift)
