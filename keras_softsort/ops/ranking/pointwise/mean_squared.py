"""The squared error of each item on its own."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._lists import RankingLists, finite, per_list, ranking_arguments
from keras_softsort.ops.ranking.pointwise._items import checked_normalization, item_mean


@export
def mean_squared(
    scores: Any,
    labels: Any,
    *,
    normalization: str = "list",
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the mean squared error of each list's scores.

    With scores s, labels y and weights w (1 by default) an item costs `w_i (s_i - y_i)^2`.

    Args:
      scores: `[..., n]` floating-point.
      labels: `[..., n]` numbers of any sign.
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
    >>> round(float(ks.ops.mean_squared(tf.constant([0.6, 0.8]), [1.0, 0.0])), 4)
    0.4

    Source: least squares; for ranking D. Cossock, T. Zhang, "Subset Ranking Using Regression", COLT 2006.
    """
    return _losses(ranking_arguments(scores, labels, mask, weights), checked_normalization(normalization))


@per_list(finite)
def _losses(lists: RankingLists, normalization: str) -> tf.Tensor:
    return item_mean(lists, tf.math.squared_difference(lists.scores, lists.labels), normalization)
