"""The negative log-likelihood of the labels' order under the Plackett-Luce model: ListMLE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._likelihood import ListMLEOptions, list_mle_options, negative_log_likelihood
from keras_softsort.ops.ranking._lists import RankingLists, per_list, ranking_arguments


@export
def list_mle(
    scores: Any,
    labels: Any,
    *,
    k: int | None = None,
    ties: str = "breslow",
    temperature: float = 1.0,
    discount: str | Callable | None = None,
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the negative log-likelihood of the order of the labels under the Plackett-Luce model of the scores.

    In this model the items are chosen one after another, each with a probability proportional to exp(score). For a list
    of m items in descending order of their labels, with scores a and weights w (1 by default):
    `-sum_i w_i (a_i - logsumexp_{j >= i} a_j)` over the first min(k, m) ranks i. This is the loss ListMLE.

    Args:
      scores: logits, floating-point `[..., n]`.
      labels: numbers `[..., n]` of any sign.
      k: number of ranks that count, those of the largest labels; None for all. 1 is the conditional logit.
      ties: rule for items with equal labels. `"breslow"`: each of them is chosen from all items that are not ranked
        before their group, as in Cox's model; if only p ranks of a group of g items count, each item costs p / g of
        that. `"first"`: items with equal labels are ranked in the order of the list.
      temperature: positive number by which the scores are divided first.
      discount: the weight of the term of rank r: None, 1; `"log2"`, 1 / log2(1 + r); `"reciprocal"`, 1 / r; or a
        function of a tensor of ranks. This is position-aware ListMLE. Tied items have the mean of their ranks' weights.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`, one per item; None for 1.

    Returns:
      `[...]` in the dtype of `scores`, not divided by the list size. Empty lists give 0. An item with a score of -inf
      cannot be chosen. If it is ranked before an item that can be chosen, or tied with it under `"breslow"`, the result
      is infinite, unless its weight is 0; ranked after all of them it costs 0. A NaN label or score, or a score of
      +inf, makes the result of its list NaN.

    Raises:
      TypeError: `scores` is not floating-point, `k` is not an integer, or `mask` is not bool.
      ValueError: `k` is below 1, `temperature` is not positive, `ties` or `discount` is unknown, or shapes do not
        match.

    Cost: a sort and O(n) per list; O(n^1.5) if scores span more than 600.

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
    options = list_mle_options(k, ties, temperature, discount)
    return _losses(ranking_arguments(scores, labels, mask, weights), options)


def _has_meaning(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Scores may be -inf, of which `relu` makes 0, and labels infinite."""
    is_nan = tf.logical_or(tf.math.is_nan(scores), tf.math.is_nan(labels))
    return tf.logical_not(tf.logical_or(is_nan, tf.math.is_inf(tf.nn.relu(scores))))


@per_list(_has_meaning)
def _losses(lists: RankingLists, options: ListMLEOptions) -> tf.Tensor:
    return negative_log_likelihood(lists, options)
