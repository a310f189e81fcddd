"""The softmax of each item against only the less relevant ones."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops._core.lists import descending, take, tied_ranks
from keras_softsort.ops._core.thresholds import is_at_most
from keras_softsort.ops.ranking._dcg import absolute_gains
from keras_softsort.ops.ranking._lists import RankingLists, finite_with_gain, per_list, ranking_arguments
from keras_softsort.ops.sampling._choice_costs import (
    FLOAT32_SIZE,
    AgainstLater,
    Comparisons,
    choice_costs,
    is_compared,
)


@export
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

    Cost: a sort and O(n) per list. If the scores of a list span more than 70 temperatures, all lists of the batch take
    O(n^2) up to 1,000 items. Longer lists, and those of a size that is unknown when traced, are computed in float64,
    and take O(n^1.5) if scores span more than 600 temperatures.

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
    dtype = lists.scores.dtype if is_at_most(lists.scores.shape[1], FLOAT32_SIZE) else tf.float64
    # Masked items, which have no weight, come after all others and cannot be chosen.
    below_all = tf.constant(-math.inf, lists.scores.dtype)
    scores = tf.cast(tf.where(lists.mask, lists.scores, below_all), dtype)
    keys = tf.where(lists.mask, lists.labels, below_all)
    if temperature != 1:
        # Only differences matter, and relative to the largest score they keep their digits.
        peak = tf.stop_gradient(tf.reduce_max(scores, axis=1, keepdims=True))
        scores = (scores - tf.maximum(peak, scores.dtype.min)) / temperature
    weights = tf.cast(lists.weights * absolute_gains(lists.labels, lists.mask, "exponential"), dtype)
    # Relative to the largest, since gains of high labels over sums of small exponentials overflow. Of no items it is 0.
    largest = tf.stop_gradient(tf.maximum(tf.reduce_max(tf.abs(weights), axis=1, keepdims=True), 0))
    weights = tf.math.divide_no_nan(weights, largest)
    if is_compared(scores):
        losses = choice_costs(scores, weights, Comparisons(keys, only_below=True))
    else:
        ordered, order = descending(keys)
        choices = AgainstLater(*tied_ranks(ordered, may_search=True))
        losses = choice_costs(take(scores, order), take(weights, order), choices)
    return tf.cast(losses * largest[:, 0], lists.scores.dtype)
