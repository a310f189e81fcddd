"""The cross-entropy of the labels with the softmax of the scores: ListNet's top-one loss."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.ranking._lists import RankingLists, finite_with_gain, per_list, ranking_arguments
from keras_softsort.ops.ranking.listwise._softmax import softmax_costs, weighted_sum


def softmax_cross_entropy(
    scores: Any, labels: Any, *, temperature: float = 1.0, mask: Any = None, weights: Any = None
) -> tf.Tensor:
    """Compute the cross-entropy of the labels with the softmax of each list's scores.

    With scores s, labels y and weights w (1 by default): `-sum_i w_i y_i log p_i`, where
    `p_i = exp(s_i / temperature) / sum_j exp(s_j / temperature)`. Labels are not divided by their sum, so a list counts
    in proportion to its labels.

    Args:
      scores: `[..., n]` floating-point.
      labels: `[..., n]` numbers of at least 0.
      temperature: positive number, in units of the scores.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`; they multiply the terms of the sum.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Lists without a label above 0, and empty lists, give
      0. A score or label that is not finite, or a label below 0, makes the result of its list NaN.

    Raises:
      TypeError: `scores` is not floating-point, `temperature` is not a number, or `mask` is not bool.
      ValueError: `temperature` is not positive, or shapes do not match.

    Cost: O(n) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> scores = tf.math.log([3.0, 1.0, 4.0])
    >>> round(float(ks.ops.softmax_cross_entropy(scores, [1, 0, 0])), 4)  # -log(3 / 8)
    0.9808

    Source: Z. Cao, T. Qin, T.-Y. Liu, M.-F. Tsai, H. Li, "Learning to Rank: From Pairwise Approach to Listwise
    Approach", ICML 2007; S. Bruch, X. Wang, M. Bendersky, M. Najork, "An Analysis of the Softmax Cross Entropy Loss for
    Learning-to-Rank with Binary Relevance", ICTIR 2019.
    """
    temperature = arguments.positive_number("temperature", temperature)
    return _losses(ranking_arguments(scores, labels, mask, weights), temperature)


@per_list(finite_with_gain)
def _losses(lists: RankingLists, temperature: float) -> tf.Tensor:
    return weighted_sum(softmax_costs(lists, temperature), lists.weights * lists.labels)
