"""NeuralSort's logits: relative to about each row's peak, with a gradient in closed form."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.thresholds import is_at_most
from keras_softsort.ops.sorting._dense.neural_sort_pairwise import PairwiseLogitGaps
from keras_softsort.ops.sorting._dense.neural_sort_prefix_sums import PrefixSumLogitGaps
from keras_softsort.ops.sorting._dense.soft_rows import (
    LogitGradient,
    Ranks,
    RowLogits,
    masked_logits,
    temperature_gradient,
)
from keras_softsort.ops.sorting._ordering import OrderedLists


def neural_sort_logits(lists: OrderedLists, ranks: Ranks, log: bool) -> RowLogits:
    """Of the rows `ranks` of the soft permutation of `lists`; exact where weights underflow if `log`."""
    rows, size, limits = ranks.numbers, lists.scores.shape[-1], lists.thresholds
    limit = limits.pairwise_max_size if rows.shape[-1] == size else limits.pairwise_max_size_top_k
    gaps: PairwiseLogitGaps | PrefixSumLogitGaps
    if is_at_most(size, limit):
        gaps = PairwiseLogitGaps(lists, rows)
    else:
        gaps = PrefixSumLogitGaps(lists, rows, ranks.consecutive, log)
    valid_rows = lists.valid_ranks(rows)

    def logits(scores: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
        return masked_logits(gaps.logits(scores, tau), lists.mask, valid_rows)

    def gradient(
        d_logits: LogitGradient, logits: tf.Tensor, scores: tf.Tensor, tau: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        del scores
        # Relative to the peak, which has no gradient: a tiny temperature would multiply the rounding of its own.
        below_peak = logits - tf.reduce_max(logits, axis=2, keepdims=True)
        return gaps.gradient(d_logits) / tau, temperature_gradient(d_logits, below_peak, tau)

    return RowLogits(logits, gradient, valid_rows, gaps.peaks_at_zero)
