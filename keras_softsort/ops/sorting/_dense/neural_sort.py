"""NeuralSort's logits, `((n + 1 - 2 i) s_j - sum_k |s_j - s_k|) / tau` of the rows i = 1, ..., n.

Scores and the sum count relative to a middle score of their list, so that neither an offset of all scores nor the size
of a score far from the others costs digits.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from keras_softsort.ops.sorting._dense.above_below import above_below
from keras_softsort.ops.sorting._dense.soft_rows import Layout, Logits, Pairs
from keras_softsort.ops.sorting._ordering import Lists, Ranks

# Scores farther from the middle, in units of a tau below 1, count as this, so that neither sums nor quotients overflow.
FARTHEST = {tf.float32: 1e33, tf.float64: 1e300}
# A lower tau counts as this, so that scores remain in order.
COLDEST = {tf.float32: 1e-30, tf.float64: 1e-290}


def neural_sort_logits(lists: Lists, ranks: Ranks, power: float) -> Logits:
    """Logits of the rows at some ranks."""
    del power
    size = lists.scores.shape[1] or tf.shape(lists.scores)[1]
    counts = size if lists.mask is None else lists.valid_counts()
    slopes = tf.cast(counts - 1 - 2 * ranks.numbers, lists.scores.dtype)  # [B or 1, r]

    def logits(scores: tf.Tensor, tau: tf.Tensor) -> tuple[Pairs, Callable[[Pairs, Layout], tf.Tensor]]:
        items = above_below(lists, scores)
        balance = items.balance()
        divisor = tf.maximum(tau, COLDEST[scores.dtype])
        farthest = FARTHEST[scores.dtype] * tf.minimum(divisor, 1)
        centered = scores - _middle(scores, balance, lists.mask)
        centered = lists.of_valid(tf.clip_by_value(centered, -farthest, farthest))
        distances = items.distances(centered)

        def pairs(layout: Layout) -> tf.Tensor:
            # Scores of few digits have exact logits until these are divided.
            heights = layout.of_ranks(slopes) * layout.of_items(centered) - layout.of_items(distances)
            return heights / divisor[:, :, tf.newaxis]

        def gradient(d_logits: Pairs, columns: Layout) -> tf.Tensor:
            sums, of_heights = columns.weighted_sums(d_logits(columns), tf.ones_like(slopes), slopes)
            return of_heights + balance * sums + items.sums(sums)

        return pairs, gradient

    return logits


def _middle(scores: tf.Tensor, balance: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """A valid score of each list with as many items above as below, or nearly: [B, 1]."""
    uneven = tf.abs(balance)
    if mask is not None:
        uneven = tf.where(mask, uneven, tf.constant(uneven.dtype.max, uneven.dtype))
    is_middle = uneven <= tf.reduce_min(uneven, axis=1, keepdims=True)
    lowest = tf.constant(scores.dtype.min, scores.dtype)
    return tf.reduce_max(tf.where(is_middle, scores, lowest), axis=1, keepdims=True)
