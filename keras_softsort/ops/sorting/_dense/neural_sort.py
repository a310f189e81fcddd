"""NeuralSort's dense matrix, with logits relative to the largest of each row, and a closed-form gradient."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.thresholds import is_at_most
from keras_softsort.ops.sorting._dense.neural_sort_pairwise import PairwiseLogitGaps
from keras_softsort.ops.sorting._dense.neural_sort_prefix_sums import PrefixSumLogitGaps
from keras_softsort.ops.sorting._dense.row_softmax import masked_logits, softmax_gradient, temperature_gradient
from keras_softsort.ops.sorting._ordering import OrderedLists


def neural_sort_rows(lists: OrderedLists, rows: tf.Tensor, log: bool = False) -> tf.Tensor:
    """Rows `rows` [B, r] of the soft permutation of `lists`, or their logarithms: [B, r, n]."""
    size = lists.scores.shape[-1]
    limits = lists.thresholds
    limit = limits.pairwise_max_size if rows.shape[-1] == size else limits.pairwise_max_size_top_k
    is_short = is_at_most(size, limit)
    rows_logits = PairwiseLogitGaps(lists, rows) if is_short else PrefixSumLogitGaps(lists, rows, log)
    valid_rows = lists.valid_ranks(rows)

    @tf.custom_gradient
    def matrix(scores: tf.Tensor, tau: tf.Tensor) -> tuple:
        logits = masked_logits(rows_logits.logits(scores, tau), lists.mask, valid_rows)
        permutation = tf.nn.softmax(logits)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            d_logits = softmax_gradient(permutation, upstream, valid_rows, log)
            return rows_logits.gradient(d_logits) / tau, temperature_gradient(d_logits, logits, tau)

        return tf.nn.log_softmax(logits) if log else permutation, gradient

    return matrix(lists.scores, lists.tau)
