"""The cross-entropy of the labels with the softmax of the scores, and its derivatives, of lists `[B, n]`."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.core.temperature import softmax_logits
from keras_softsort.ops.ranking.dcg import discounts
from keras_softsort.ops.ranking.lambda_weights import (
    LambdaWeight,
    checked_lambda_weight,
    delta_features,
    lambda_options,
)
from keras_softsort.ops.ranking.lists import Derivatives, RankingLists
from keras_softsort.ops.ranking.operators import Held


def checked_softmax_weight(name: str, value: Any) -> str | LambdaWeight | None:
    """Return `value`, a lambda weight whose discounted gains stand in for the labels, or None."""
    weight = checked_lambda_weight(name, value)
    options = lambda_options(weight)
    if options is None:
        return None
    arguments.one_of(f"{name} of a softmax", options.metric, ("dcg", "mrr", "ndcg"))
    if options.version == 2 or options.neighbors_only or options.smooth_fraction != 1:
        raise ValueError(f"version, neighbors_only and smooth_fraction need pairs of items, got {value!r}")
    return weight


SOFTMAX_WEIGHT = Held(checked_softmax_weight, lambda name, value: lambda_options(checked_softmax_weight(name, value)))


def softmax_losses(lists: RankingLists, lambda_weight: Any = None, poly_epsilon: float = 0.0) -> tf.Tensor:
    """The weighted cross-entropy [B] of the labels, or of their discounted gains, with the softmax of the scores."""
    logs = tf.nn.log_softmax(softmax_logits(lists.scores, lists.mask, lists.tau))
    costs = poly_epsilon * -tf.math.expm1(logs) - logs if poly_epsilon else -logs
    # A cost with weight 0 counts 0, even if it is infinite.
    return tf.reduce_sum(tf.math.multiply_no_nan(costs, _weighted_relevance(lists, lambda_weight)), axis=-1)


def softmax_slopes(lists: RankingLists, lambda_weight: Any = None) -> Derivatives:
    """With shares p and weighted labels y: `sum(y) p - y` and `sum(y) p (1 - p)`, in units of tau."""
    shares = softmax_shares(lists.scores, lists, lists.tau)
    weights, scale = _weighted_relevance(lists, lambda_weight), 1 / lists.tau
    expected = tf.reduce_sum(weights, axis=-1, keepdims=True) * shares
    return Derivatives(scale * (expected - weights), tf.square(scale) * expected * (1 - shares))


def softmax_shares(scores: tf.Tensor, lists: RankingLists, tau: tf.Tensor) -> tf.Tensor:
    """The softmax of the valid `scores` [B, n] in units of `tau`; 0 where masked, also if no item is valid."""
    return lists.only_valid(tf.nn.softmax(softmax_logits(scores, lists.mask, tau)))


def _weighted_relevance(lists: RankingLists, lambda_weight: Any) -> tf.Tensor:
    """The weights times the labels, or times their discounted gains: [B, n]."""
    if lambda_weight is None:
        return lists.weighted(lists.labels)
    features = delta_features(lists, lambda_weight)
    return lists.weighted(features.gains) * discounts(features.ranks, lambda_weight.discount)
