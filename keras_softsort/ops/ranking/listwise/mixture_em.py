"""Clicks of each list by one of several models, by expectation maximization."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.ranking._lists import RankingLists, finite_item_logits, item_logit_arguments, per_list


def mixture_em(
    logits: Any,
    labels: Any,
    *,
    alpha: float = 1.0,
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the expectation-maximization loss of a mixture of click models.

    The m logits of an item are those of m models of its click. A model's cost for a list is the sum of its items'
    binary cross-entropies; with its weights p, which are the softmax of minus alpha times these costs and have no
    gradient, the list costs `sum_m p_m sum_i w_i cost_im`.

    Args:
      logits: `[..., n, m]` floating-point, one per model.
      labels: `[..., n]` clicks, from 0 to 1.
      alpha: how sharply a list is assigned to the models that fit it, at least 0.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`; they multiply the costs of the items, and not those that p
        goes by.

    Returns:
      `[...]` in the dtype of `logits`. Masked items take no part. Lists without a click, and empty ones, give 0. A
      logit or label that is not finite makes its list's result NaN.

    Raises:
      TypeError: `logits` are not floating-point, an argument of another type.
      ValueError: `alpha` < 0, shapes that do not match.

    Cost: O(n m) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> round(float(ks.ops.mixture_em(tf.constant([[0.6, 0.9], [0.8, 0.2]]), [1.0, 0.0])), 4)
    1.3199

    Source: L. Yan, Z. Qin, H. Zhuang, X. Wang, M. Bendersky, M. Najork, "Revisiting Two-tower Models for Unbiased
    Learning to Rank", SIGIR 2022.
    """
    alpha = arguments.non_negative_number("alpha", alpha)
    return _losses(item_logit_arguments(logits, labels, mask, weights), alpha)


@per_list(finite_item_logits)
def _losses(lists: RankingLists, alpha: float) -> tf.Tensor:
    labels = tf.broadcast_to(lists.labels[..., tf.newaxis], tf.shape(lists.scores))
    costs = tf.nn.sigmoid_cross_entropy_with_logits(labels, lists.scores)
    costs = tf.where(lists.mask[..., tf.newaxis], costs, tf.zeros_like(costs))
    chances = tf.stop_gradient(tf.nn.softmax(-alpha * tf.reduce_sum(costs, axis=1)))
    total = tf.reduce_sum(chances * tf.linalg.matvec(costs, lists.weights, transpose_a=True), axis=-1)
    clicked = tf.reduce_sum(lists.labels, axis=-1) > 0
    return tf.where(clicked, total, tf.zeros_like(total))
