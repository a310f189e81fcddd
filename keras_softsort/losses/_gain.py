"""What NDCG is made of: the gains of labels, the discounts of ranks, and the DCG of the best order."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._lists import Lists

GAINS = ("exponential", "linear")


def relative_gains(lists: Lists, gain: str) -> tf.Tensor:
    """The gains `[batch, n]` of finite labels, up to a factor a list that NDCG does not know; 0 where masked.

    `"exponential"` is 2^label - 1 in units of 2^(the largest label), which overflows for no label.
    """
    labels = tf.where(lists.mask, lists.labels, tf.zeros_like(lists.labels))
    if gain == "linear":
        return labels
    largest = tf.reduce_max(labels, axis=-1, keepdims=True)
    # (1 - 2^-label) 2^label: no digits are lost to the 1 where labels are small.
    log_2 = tf.math.log(tf.constant(2, labels.dtype))
    return -tf.math.expm1(-labels * log_2) * tf.pow(tf.constant(2, labels.dtype), labels - largest)


def discounts(ranks: tf.Tensor) -> tf.Tensor:
    """1 / log2(1 + rank) of ranks that count from 1 and may lie between integers."""
    return tf.math.log(tf.constant(2, ranks.dtype)) / tf.math.log1p(ranks)


def rank_discounts(size: tf.Tensor, dtype: tf.DType, k: int | None = None) -> tf.Tensor:
    """The discounts [size] of the ranks 1, 2, ..., 0 beyond the k-th."""
    ranks = tf.cast(tf.range(1, size + 1), dtype)
    every = discounts(ranks)
    return every if k is None else tf.where(ranks <= k, every, tf.zeros_like(every))


def minus_ndcg(dcg: tf.Tensor, gains: tf.Tensor, k: int | None = None) -> tf.Tensor:
    """-DCG / (DCG of the best order of `gains` [batch, n], its first k): [batch]; 0 where there is no gain at all."""
    best = tf.sort(gains, axis=-1, direction="DESCENDING")
    ideal = tf.reduce_sum(best * rank_discounts(tf.shape(gains)[1], gains.dtype, k), axis=-1)
    return -tf.math.divide_no_nan(dcg, ideal)
