"""RankNet's cost of pairs that are given as differences of scores."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops._core import validation
from keras_softsort.ops._core.dtypes import compute_dtype
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.ranking._lists import broadcasts


def pairwise_logistic(score_difference: Any, weight: Any = None, *, sigma: float = 1.0) -> tf.Tensor:
    """The logistic cost of explicit pairs: `weight log(1 + exp(-sigma d))`, d = preferred score - other score.

    For pairs that come as such, as from two towers: what `RankNetLoss` takes of each pair of a list.

    Args:
      score_difference: floating-point, of any shape: how far the preferred item is ahead.
      weight: of the same shape, or of one that broadcasts to it; `None` for 1.
      sigma: how fast the cost falls with the difference, positive.

    Returns:
      The costs, of the shape and dtype of `score_difference`. A pair of weight 0 costs 0 with zero gradient, whatever
      its difference, NaN included. Large differences neither overflow nor lose the digits of a small cost.

    Raises:
      TypeError: `score_difference` is not floating-point.
      ValueError: `sigma` that is not positive, a weight of a shape that does not broadcast, a negative or NaN weight.
      InvalidArgumentError: a negative or NaN weight in a traced function (under XLA it is not looked at).

    Cost: O(1) a pair.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> [round(float(cost), 4) for cost in ks.ops.pairwise_logistic(tf.constant([0.0, 2.0]), [1.0, 10.0])]
    [0.6931, 1.2693]

    Source: C. Burges, T. Shaked, E. Renshaw, A. Lazier, M. Deeds, N. Hamilton, G. Hullender, "Learning to Rank using
    Gradient Descent", ICML 2005.
    """
    difference = validation.floating_tensor("score_difference", score_difference)
    sigma = arguments.positive_number("sigma", sigma)
    if weight is None:
        return _costs(difference, None, sigma)
    weight = tf.cast(validation.real_tensor("weight", weight), compute_dtype(difference.dtype))
    shape, expected = weight.shape, difference.shape
    if not broadcasts(shape, expected):
        raise ValueError(f"weight must have the shape of score_difference, {expected}, or broadcast to it, got {shape}")
    return _costs(difference, validation.non_negative_tensor("weight", weight), sigma)


@traced_if_eager
def _costs(difference: tf.Tensor, weight: tf.Tensor | None, sigma: float) -> tf.Tensor:
    lead = tf.cast(difference, compute_dtype(difference.dtype)) * -sigma
    if weight is None:
        return tf.cast(tf.math.softplus(lead), difference.dtype)
    weight = tf.broadcast_to(weight, tf.shape(lead))
    counted = weight > 0
    costs = weight * tf.math.softplus(tf.where(counted, lead, tf.zeros_like(lead)))
    return tf.cast(tf.where(tf.equal(weight, 0), tf.zeros_like(costs), costs), difference.dtype)
