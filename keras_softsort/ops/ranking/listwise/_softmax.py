"""The cost of choosing each item from all items of its list: minus the logarithm of a masked softmax."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.ranking._dcg import discounts
from keras_softsort.ops.ranking._lists import RankingLists
from keras_softsort.ops.ranking._pairs.arguments import PairOptions, pair_lists, pair_options
from keras_softsort.ops.ranking._pairs.lambda_weights import delta_features
from keras_softsort.ops.sampling._logsumexp import logsumexp


def softmax_costs(lists: RankingLists, temperature: float) -> tf.Tensor:
    """`logsumexp(s / temperature) - s_i / temperature` over the valid items: `[B, n]`, 0 where masked."""
    minus_infinity = tf.constant(-math.inf, lists.scores.dtype)
    peak = tf.stop_gradient(tf.reduce_max(tf.where(lists.mask, lists.scores, minus_infinity), axis=-1, keepdims=True))
    # Only differences matter, and relative to the largest score they keep their precision.
    below = (lists.scores - tf.where(tf.math.is_inf(peak), tf.zeros_like(peak), peak)) / temperature
    total = logsumexp(tf.where(lists.mask, below, minus_infinity))
    return tf.where(lists.mask, total[:, tf.newaxis] - below, tf.zeros_like(below))


def relevance_options(lambda_weight: Any) -> PairOptions | None:
    """The checked options of the weight that takes discounted gains in place of labels."""
    if lambda_weight is None:
        return None
    options = pair_options(1.0, lambda_weight=lambda_weight)
    arguments.one_of("lambda_weight of a softmax", options.lambda_weight, ("dcg", "mrr", "ndcg"))
    if options.version == 2 or options.neighbors_only or options.smooth_fraction != 1:
        raise ValueError(f"version, neighbors_only and smooth_fraction need pairs of items, got {lambda_weight!r}")
    return options


def softmax_losses(lists: RankingLists, temperature: float, options: PairOptions | None) -> tf.Tensor:
    """The weighted cross-entropy [B] of the labels, or of their discounted gains, with the softmax of the scores."""
    relevance = lists.labels if options is None else _discounted_gains(lists, options)
    return weighted_sum(softmax_costs(lists, temperature), lists.weights * relevance)


def _discounted_gains(lists: RankingLists, options: PairOptions) -> tf.Tensor:
    pairs = pair_lists(tf.stop_gradient(lists.scores), lists.labels, lists.mask, lists.weights, options)
    features = delta_features(pairs, options)
    return features.gains * discounts(features.ranks, options.discount)


def weighted_sum(costs: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """The sum [B] of `weights * costs`, where a cost with weight 0 counts 0 even if it is infinite."""
    return tf.reduce_sum(tf.math.multiply_no_nan(costs, weights), axis=-1)
