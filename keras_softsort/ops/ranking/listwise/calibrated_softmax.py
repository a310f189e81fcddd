"""The softmax cross-entropy with a virtual item of score 0, which anchors the scale of the scores."""

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
def calibrated_softmax(
    scores: Any,
    labels: Any,
    *,
    temperature: float = 1.0,
    virtual_label: float = 0.0,
    lambda_weight: str | LambdaWeight | None = None,
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the softmax cross-entropy of each list and a virtual item of score 0.

    With scores s, labels y and weights w (1 by default): `-sum_i w_i y_i log p_i - w y_0 log p_0`, where `p_i = exp(s_i
    / temperature) / (1 + sum_j exp(s_j / temperature))`. For the virtual item, `p_0 = 1 - sum_i p_i`, y_0 is its label,
    and its weight w is the mean weight of the list.

    Args:
      scores: `[..., n]` floating-point.
      labels: `[..., n]` numbers of at least 0: relevance.
      temperature: positive number, in units of the scores.
      virtual_label: the label of the virtual item, at least 0.
      lambda_weight: see `SoftmaxLoss`. The virtual item counts as an item of the list.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`; they multiply the terms of the sum.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. In a list without a label above 0 only the term of
      the virtual item remains. Empty lists give 0. A score or label that is not finite, or a label below 0, makes the
      result of its list NaN.

    Raises:
      TypeError: `scores` are not floating-point, or an argument has another type.
      ValueError: `temperature` is not positive, `virtual_label` is negative, or shapes do not match.

    Cost: O(n) time and memory per list; a sort with a lambda weight.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> round(float(ks.ops.calibrated_softmax(tf.constant([0.6, 0.8]), [1.0, 0.0], virtual_label=0.1)), 4)
    1.1808

    Source: L. Yan, Z. Qin, X. Wang, M. Bendersky, M. Najork, "Scale Calibration of Deep Ranking Models", KDD 2022.
    """
    temperature = arguments.positive_number("temperature", temperature)
    virtual_label = arguments.non_negative_number("virtual_label", virtual_label)
    args = ranking_arguments(scores, labels, mask, weights)
    return _losses(args, temperature, virtual_label, relevance_options(lambda_weight))


@per_list(finite_with_gain)
def _losses(lists: RankingLists, temperature: float, virtual_label: float, options: PairOptions | None) -> tf.Tensor:
    mean_weights = tf.reduce_sum(lists.weights, axis=-1, keepdims=True) / lists.sizes()[:, tf.newaxis]
    extended = RankingLists(
        scores=tf.concat([lists.scores, tf.zeros_like(mean_weights)], axis=-1),
        labels=tf.concat([lists.labels, virtual_label * tf.ones_like(mean_weights)], axis=-1),
        mask=tf.concat([lists.mask, tf.ones_like(mean_weights, tf.bool)], axis=-1),
        weights=tf.concat([lists.weights, mean_weights], axis=-1),
        tau=None,
    )
    return softmax_losses(extended, temperature, options)
