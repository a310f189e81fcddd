"""The softmax of each item against only the less relevant ones."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops._core.batching import take
from keras_softsort.ops._core.permutations import tied_ranks
from keras_softsort.ops.ranking._dcg import absolute_gains
from keras_softsort.ops.ranking._lists import RankingLists, finite_with_gain, per_list, ranking_arguments
from keras_softsort.ops.ranking.listwise._softmax import weighted_sum
from keras_softsort.ops.sampling._plackett_luce import logsumexp, subtract_max, suffix_logsumexp


def unique_softmax(
    scores: Any,
    labels: Any,
    *,
    temperature: float = 1.0,
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the softmax cross-entropy of each item against the less relevant ones.

    With scores s, labels y and weights w (1 by default): `-sum_i w_i (2^y_i - 1) log(exp(s_i) / (exp(s_i) + sum_{j: y_j
    < y_i} exp(s_j)))`, with s divided by the temperature.

    Args:
      scores: `[..., n]` floating-point.
      labels: `[..., n]` numbers of at least 0: relevance.
      temperature: positive number, in units of the scores.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`; they multiply the terms of the sum.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Lists without a label above 0, and empty lists, give
      0. A score or label that is not finite, or a label below 0, makes the result of its list NaN.

    Raises:
      TypeError: `scores` are not floating-point, or an argument has another type.
      ValueError: `temperature` is not positive, or shapes do not match.

    Cost: O(n log n) time and O(n) memory; O(n^1.5) if scores span more than 600 temperatures.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> round(float(ks.ops.unique_softmax(tf.constant([0.6, 0.8]), [1.0, 0.0])), 4)
    0.7981

    Source: X. Zhu, D. Klabjan, "Listwise Learning to Rank by Exploring Unique Ratings", WSDM 2020.
    """
    temperature = arguments.positive_number("temperature", temperature)
    return _losses(ranking_arguments(scores, labels, mask, weights), temperature)


@per_list(finite_with_gain)
def _losses(lists: RankingLists, temperature: float) -> tf.Tensor:
    minus_infinity = tf.constant(-math.inf, lists.scores.dtype)
    keys = tf.where(lists.mask, lists.labels, minus_infinity)
    order = tf.argsort(keys, axis=-1, direction="DESCENDING", stable=True)
    _, last = tied_ranks(take(keys, order), may_search=True)
    own = subtract_max(take(tf.where(lists.mask, lists.scores, minus_infinity), order)) / temperature
    # No item follows the last one.
    behind = tf.pad(suffix_logsumexp(own), [[0, 0], [0, 1]], constant_values=-math.inf)
    totals = logsumexp(tf.stack([own, take(behind, last + 1)], axis=-1))
    valid = take(lists.mask, order)
    costs = tf.where(valid, totals - tf.where(valid, own, tf.zeros_like(own)), tf.zeros_like(own))
    gains = absolute_gains(lists.labels, lists.mask, "exponential")
    return weighted_sum(tf.cast(costs, lists.scores.dtype), take(lists.weights * gains, order))
