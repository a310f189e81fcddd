"""A mixture of click models, trained by expectation maximization."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._lists import RankingLists, finite_item_logits, item_logit_arguments, per_list


@export
def mixture_em(
    logits: Any,
    labels: Any,
    *,
    alpha: float = 1.0,
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the expectation-maximization loss of a mixture of click models.

    Each item has m logits: the log-odds of a click according to m models. With c_im the binary cross-entropy of the
    click of item i under model m, the list has the responsibilities `p_m = softmax_m(-alpha sum_i c_im)`, which have no
    gradient. The loss of the list is `sum_m p_m sum_i w_i c_im`, with weights w (1 by default).

    Args:
      logits: `[..., n, m]` floating-point, one per model.
      labels: `[..., n]` clicks, from 0 to 1.
      alpha: at least 0. The larger it is, the more a list trains only the model that fits it best; 0 trains all
        equally.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`. They do not enter p.

    Returns:
      `[...]` in the dtype of `logits`. Masked items are left out. Lists without a click, and empty lists, give 0. A
      logit or label that is not finite makes the result of its list NaN.

    Raises:
      TypeError: `logits` are not floating-point, or an argument has another type.
      ValueError: `alpha` is negative, or shapes do not match.

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
