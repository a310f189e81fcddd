"""The binary cross-entropy of each item on its own."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._lists import RankingLists, finite, per_list, ranking_arguments
from keras_softsort.ops.ranking.pointwise._items import checked_normalization, item_mean


@export
def sigmoid_cross_entropy(
    scores: Any,
    labels: Any,
    *,
    normalization: str = "list",
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the mean binary cross-entropy of each list's items.

    With logits s, labels y and weights w (1 by default) an item costs `-w_i (y_i log p_i + (1 - y_i) log(1 - p_i))`
    with `p_i = 1 / (1 + exp(-s_i))`.

    Args:
      scores: `[..., n]` floating-point.
      labels: `[..., n]` numbers from 0 to 1; others are taken as they are.
      normalization: divisor of the sum over items. `"list"`: the number of valid items. `"none"`: 1.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`; they multiply the terms of the sum.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Empty lists give 0. A score or label that is not
      finite makes the result of its list NaN.

    Raises:
      TypeError: `scores` are not floating-point, or an argument has another type.
      ValueError: `normalization` is unknown, or shapes do not match.

    Cost: O(n) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> round(float(ks.ops.sigmoid_cross_entropy(tf.constant([0.6, 0.8]), [1.0, 0.0])), 4)
    0.8043

    Source: the negative log-likelihood of independent Bernoulli variables; for ranking W. Cooper, F. Gey, D. Dabney,
    "Probabilistic Retrieval Based on Staged Logistic Regression", SIGIR 1992.
    """
    return _losses(ranking_arguments(scores, labels, mask, weights), checked_normalization(normalization))


@per_list(finite)
def _losses(lists: RankingLists, normalization: str) -> tf.Tensor:
    costs = tf.nn.sigmoid_cross_entropy_with_logits(lists.labels, lists.scores)
    return item_mean(lists, costs, normalization)
