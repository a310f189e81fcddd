"""RankNet's cost of explicit pairs, given as differences of scores."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.ranking._lists import broadcasts


@export
def pairwise_logistic(score_difference: Any, weight: Any = None, *, sigma: float = 1.0) -> tf.Tensor:
    """Compute the logistic cost of explicit pairs: `weight log(1 + exp(-sigma d))`, d = preferred score - other score.

    Use it if your data are pairs rather than lists, for example with a two-tower model. `RankNetLoss` has the same cost
    for each pair of a list.

    Args:
      score_difference: floating-point, of any shape: the score of the preferred item minus that of the other item.
      weight: weights that broadcast to this shape, not negative; None for 1.
      sigma: slope of the cost, positive, which is 1 / temperature.

    Returns:
      The costs, with the shape and dtype of `score_difference`. A pair with weight 0 costs 0 and has zero gradient,
      even if its difference is NaN. Large differences do not overflow, and small costs keep their precision.

    Raises:
      TypeError: `score_difference` is not floating-point.
      ValueError: `sigma` is not positive, `weight` does not broadcast, or a weight is negative or NaN.
      InvalidArgumentError: a weight is negative or NaN in a traced function (not checked under XLA).

    Cost: O(1) per pair.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> [round(float(cost), 4) for cost in ks.ops.pairwise_logistic(tf.constant([0.0, 2.0]), [1.0, 10.0])]
    [0.6931, 1.2693]

    Source: C. Burges, T. Shaked, E. Renshaw, A. Lazier, M. Deeds, N. Hamilton, G. Hullender, "Learning to Rank using
    Gradient Descent", ICML 2005.
    """
    difference = arguments.floating_tensor("score_difference", score_difference)
    # As a tensor, so that another number needs no new trace.
    sigma = tf.constant(arguments.positive_number("sigma", sigma), compute_dtype(difference.dtype))
    if weight is None:
        return _costs(difference, None, sigma)
    weight = tf.cast(arguments.real_tensor("weight", weight), compute_dtype(difference.dtype))
    shape, expected = weight.shape, difference.shape
    if not broadcasts(shape, expected):
        raise ValueError(f"weight must have the shape of score_difference, {expected}, or broadcast to it, got {shape}")
    return _costs(difference, arguments.non_negative_tensor("weight", weight), sigma)


@traced_if_eager
def _costs(difference: tf.Tensor, weight: tf.Tensor | None, sigma: tf.Tensor) -> tf.Tensor:
    lead = tf.cast(difference, compute_dtype(difference.dtype)) * -sigma
    if weight is None:
        return tf.cast(tf.math.softplus(lead), difference.dtype)
    weight = tf.broadcast_to(weight, tf.shape(lead))
    counted = weight > 0
    costs = weight * tf.math.softplus(tf.where(counted, lead, tf.zeros_like(lead)))
    return tf.cast(tf.where(tf.equal(weight, 0), tf.zeros_like(costs), costs), difference.dtype)
