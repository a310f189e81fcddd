"""Minus the reciprocal rank with smooth ranks: ApproxMRR."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._lists import RankingLists, finite_with_gain, per_list, ranking_arguments
from keras_softsort.ops.ranking._sigmoid_ranks.sigmoid_ranks import sigmoid_ranks


@export
def approx_mrr(
    scores: Any,
    labels: Any,
    *,
    tau: Any = 0.1,
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute minus the mean reciprocal of the smooth ranks of relevant items: ApproxMRR.

    With scores s, labels y and weights w (1 by default): `-sum_i w_i y_i / rank_i / sum_i y_i` with `rank_i = 1 +
    sum_{j != i} sigmoid((s_j - s_i) / tau)`. It is the mean of the reciprocal ranks weighted by the labels, from -1
    (one relevant item, ranked first) to 0.

    Args:
      scores: `[..., n]` floating-point.
      labels: `[..., n]` numbers of at least 0: relevance.
      tau: temperature, positive, in units of the scores. As it goes to 0 the ranks become exact.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`; they multiply the labels in the first sum only.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Lists without a label above 0, and empty lists, give
      0. A score or label that is not finite, or a label below 0, makes the result of its list NaN.

    Raises:
      TypeError: `scores` are not floating-point, or an argument has another type.
      ValueError: `tau` is not positive, or shapes do not match.

    Cost: that of `approx_ndcg`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> round(float(ks.ops.approx_mrr(tf.constant([0.3, 0.9, 0.4]), [0.0, 0.0, 1.0])), 4)
    -0.442

    Source: T. Qin, T.-Y. Liu, H. Li, "A General Approximation Framework for Direct Optimization of Information
    Retrieval Measures", Information Retrieval 13, 2010.
    """
    return _losses(ranking_arguments(scores, labels, mask, weights, tau=tau))


@per_list(finite_with_gain)
def _losses(lists: RankingLists) -> tf.Tensor:
    ranks = sigmoid_ranks(lists.scores, lists.tau, lists.mask)
    total = tf.reduce_sum(lists.weights * lists.labels / ranks, axis=-1)
    return -tf.math.divide_no_nan(total, tf.reduce_sum(lists.labels, axis=-1))
