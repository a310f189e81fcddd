"""The negative log-likelihood of the labels' order under the Plackett-Luce model: ListMLE."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops._core.batching import take
from keras_softsort.ops._core.permutations import tied_ranks
from keras_softsort.ops.ranking._lists import RankingLists, per_list, ranking_arguments
from keras_softsort.ops.sampling._plackett_luce import log_shares, subtract_max, suffix_logsumexp

TIES = ("breslow", "first")


def list_mle(
    scores: Any, labels: Any, *, k: int | None = None, ties: str = "breslow", mask: Any = None, weights: Any = None
) -> tf.Tensor:
    """Negative log-likelihood of the order of the labels when items are chosen one after another by their scores.

    For a list of m items in descending order of their labels, with scores a and weights w (1 by default):
    `-sum_i w_i (a_i - logsumexp_{j >= i} a_j)` over the first min(k, m) ranks i.

    Args:
      scores: `[..., n]` floating-point: logits, the logarithms of the items' strengths.
      labels: `[..., n]` numbers of any sign.
      k: number of ranks that count, those of the largest labels; None for all. With 1 this is the conditional logit.
      ties: what items with equal labels cost. `"breslow"`: each is chosen from all items that are not ranked before
        its group, as in Cox' model; if only p ranks of a group of g items count, each item costs p / g of that.
        `"first"`: equal labels are ranked as they stand in the list.
      mask: bool `[..., n]`, True = keep.
      weights: numbers that broadcast against `[..., n]`, one per item; None for 1.

    Returns:
      `[...]` in the dtype of `scores`, not divided by the list size. Empty lists give 0. An item with score -inf cannot
      be chosen: ranked before one that can, or tied with it under `"breslow"`, it costs infinity unless its weight is
      0; after all of them it costs 0. A NaN label or score, or a score of +inf, makes its list's result NaN.

    Raises:
      TypeError: `scores` are not floating-point, `k` is not an integer, `mask` is not bool.
      ValueError: `k` < 1, unknown `ties`, shapes that do not match.

    Cost: a sort and O(n); O(n^1.5) where scores span more than 600.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> loss = ks.ops.list_mle(tf.math.log([3.0, 1.0, 2.0]), [2, 0, 1])
    >>> round(float(tf.exp(-loss)), 6)  # 3 / (3 + 2 + 1) * 2 / (2 + 1)
    0.333333

    Source: F. Xia, T.-Y. Liu, J. Wang, W. Zhang, H. Li, "Listwise Approach to Learning to Rank: Theory and Algorithm",
    ICML 2008; the first k: Y. Lan, T.-Y. Liu, Z. Ma, H. Li, "Generalization Analysis of Listwise Learning-to-Rank
    Algorithms", ICML 2009; ties: N. Breslow, "Covariance Analysis of Censored Survival Data", Biometrics 30, 1974.
    """
    args = ranking_arguments(scores, labels, mask, weights)
    k = None if k is None else arguments.positive_integer("k", k)
    return _losses(args, k, arguments.one_of("ties", ties, TIES))


def _has_meaning(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Scores may be -inf, and labels infinite."""
    return tf.logical_not(
        tf.logical_or(tf.math.is_nan(labels), tf.logical_or(tf.math.is_nan(scores), tf.equal(scores, math.inf)))
    )


@per_list(_has_meaning)
def _losses(lists: RankingLists, k: int | None, ties: str) -> tf.Tensor:
    minus_infinity = tf.constant(-math.inf, lists.scores.dtype)
    keys = tf.where(lists.mask, lists.labels, minus_infinity)
    order = tf.argsort(keys, axis=-1, direction="DESCENDING", stable=True)
    chosen = subtract_max(take(tf.where(lists.mask, lists.scores, minus_infinity), order))
    normalizers = suffix_logsumexp(chosen)
    first = tf.range(tf.shape(keys)[1])[tf.newaxis, :]
    sizes = tf.ones_like(first)
    if ties == "breslow":
        first, last = tied_ranks(take(keys, order))
        normalizers = take(normalizers, first)
        sizes = last - first + 1
    # What does not count may be infinite.
    shares = tf.cast(log_shares(chosen, normalizers), lists.scores.dtype)
    counted = _counted(tf.cast(first, shares.dtype), tf.cast(sizes, shares.dtype), k)
    terms = tf.math.multiply_no_nan(shares, take(lists.weights, order) * counted)
    return tf.reduce_sum(-terms, axis=-1)


def _counted(first: tf.Tensor, sizes: tf.Tensor, k: int | None) -> tf.Tensor:
    """The share of `sizes` ranks from rank `first` on, counted from 0, that lies within the first k."""
    return tf.ones_like(sizes) if k is None else tf.clip_by_value(k - first, 0, sizes) / sizes
