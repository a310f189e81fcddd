"""A model of clicks as examination times relevance, trained by expectation maximization."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._lists import RankingLists, finite_item_logits, item_logit_arguments, per_list
from keras_softsort.ops.ranking.pointwise._items import checked_normalization, item_mean


@export
def click_em(
    logits: Any,
    labels: Any,
    *,
    exam_loss_weight: float = 1.0,
    rel_loss_weight: float = 1.0,
    normalization: str = "list",
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the expectation-maximization loss of clicks as examination times relevance.

    Each item has two logits, for being examined and for being relevant. In this model a user clicks an item that is
    both. The posterior probabilities of examination and relevance, given the clicks, are computed from the logits,
    without gradient; they are 1 for a clicked item. The loss of an item is the weighted sum of the binary
    cross-entropies of the two logits with these probabilities as targets.

    Args:
      logits: `[..., n, 2]` floating-point: first of examination, then of relevance.
      labels: `[..., n]` clicks: 1 or more for a clicked item.
      exam_loss_weight: weight of the cross-entropy of examination, at least 0.
      rel_loss_weight: weight of the cross-entropy of relevance, at least 0.
      normalization: divisor of the sum over items. `"list"`: the number of valid items. `"none"`: 1.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`; they multiply the terms of the sum.

    Returns:
      `[...]` in the dtype of `logits`. Masked items are left out. Empty lists give 0. A logit or label that is not
      finite makes the result of its list NaN.

    Raises:
      TypeError: `logits` are not floating-point, or an argument has another type.
      ValueError: a weight is negative, `normalization` is unknown, or shapes do not match.

    Cost: O(n) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> round(float(ks.ops.click_em(tf.constant([[0.6, 0.9], [0.8, 0.2]]), [1.0, 0.0])), 4)
    1.1463

    Source: X. Wang, N. Golbandi, M. Bendersky, D. Metzler, M. Najork, "Position Bias Estimation for Unbiased Learning
    to Rank in Personal Search", WSDM 2018.
    """
    exam_weight = arguments.non_negative_number("exam_loss_weight", exam_loss_weight)
    rel_weight = arguments.non_negative_number("rel_loss_weight", rel_loss_weight)
    args = item_logit_arguments(logits, labels, mask, weights)
    if args.scores.shape[-1] not in (2, None):
        raise ValueError(f"logits must have shape [..., n, 2], got {args.scores.shape}")
    return _losses(args, exam_weight, rel_weight, checked_normalization(normalization))


@per_list(finite_item_logits)
def _losses(lists: RankingLists, exam_weight: float, rel_weight: float, normalization: str) -> tf.Tensor:
    examination, relevance = lists.scores[..., 0], lists.scores[..., 1]
    clicked = lists.labels >= 1
    costs = tf.zeros_like(lists.labels)
    for own, other, weight in ((examination, relevance, exam_weight), (relevance, examination, rel_weight)):
        # Without a click: p (1 - q) / (1 - p q), of which this is the logit.
        posterior = tf.sigmoid(own - tf.math.softplus(other))
        target = tf.stop_gradient(tf.where(clicked, tf.ones_like(posterior), posterior))
        costs += weight * tf.nn.sigmoid_cross_entropy_with_logits(target, own)
    return item_mean(lists, costs, normalization)
