"""The cross-entropy of the labels with the softmax of the scores: ListNet's top-one loss."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._lists import RankingLists, finite_with_gain, per_list, ranking_arguments
from keras_softsort.ops.ranking._pairs.arguments import PairOptions
from keras_softsort.ops.ranking._pairs.metric import LambdaWeight
from keras_softsort.ops.ranking.listwise._softmax import relevance_options, softmax_losses


@export
def softmax_cross_entropy(
    scores: Any,
    labels: Any,
    *,
    temperature: float = 1.0,
    lambda_weight: str | LambdaWeight | None = None,
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the cross-entropy of the labels with the softmax of each list's scores: ListNet.

    With scores s, labels y and weights w (1 by default): `-sum_i w_i y_i log p_i`, where `p_i = exp(s_i / temperature)
    / sum_j exp(s_j / temperature)`. The labels are not divided by their sum, so a list counts in proportion to its
    labels.

    Args:
      scores: `[..., n]` floating-point.
      labels: `[..., n]` numbers of at least 0: relevance.
      temperature: positive number, in units of the scores.
      lambda_weight: None, `"ndcg"`, `"dcg"`, `"mrr"` or a `LambdaWeight` of one of these. It replaces each label by its
        gain times the discount of the item's rank in the current order of the scores. `"ndcg"` and `"mrr"` also divide
        by the ideal DCG. `k` only changes the ideal DCG, as in TF-Ranking.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`; they multiply the terms of the sum.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Lists without a label above 0, and empty lists, give
      0. A score or label that is not finite, or a label below 0, makes the result of its list NaN.

    Raises:
      TypeError: `scores` is not floating-point, `temperature` is not a number, or `mask` is not bool.
      ValueError: `temperature` is not positive, the lambda weight has no meaning for this loss, or shapes do not
        match.

    Cost: O(n) time and memory per list; a sort with a lambda weight.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> round(float(ks.ops.softmax_cross_entropy(tf.constant([1.0986123, 0.0, 1.3862944]), [1.0, 0.0, 0.0])), 4)
    0.9808

    Source: Z. Cao, T. Qin, T.-Y. Liu, M.-F. Tsai, H. Li, "Learning to Rank: From Pairwise Approach to Listwise
    Approach", ICML 2007; S. Bruch, X. Wang, M. Bendersky, M. Najork, "An Analysis of the Softmax Cross Entropy Loss for
    Learning-to-Rank with Binary Relevance", ICTIR 2019.
    """
    temperature = arguments.positive_number("temperature", temperature)
    return _losses(ranking_arguments(scores, labels, mask, weights), temperature, relevance_options(lambda_weight))


@per_list(finite_with_gain)
def _losses(lists: RankingLists, temperature: float, options: PairOptions | None) -> tf.Tensor:
    return softmax_losses(lists, temperature, options)
