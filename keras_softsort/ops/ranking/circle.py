"""The circle loss of similarities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.ranking.lists import RankingLists, TauArguments, finite
from keras_softsort.ops.ranking.operators import list_operator

if TYPE_CHECKING:
    from typing_extensions import Unpack


@export
@list_operator(finite, tau=1 / 64, margin=arguments.fraction)
def circle_loss(lists: RankingLists, *, margin: float = 0.25, **shared: Unpack[TauArguments]) -> tf.Tensor:
    """Compute the circle loss of similarities.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    With similarities s in [0, 1], a margin m and weights w (1 by default): `mean(w) log(1 + sum_{i, j: y_i > y_j}
    exp((a_i (1 - m - s_i) + b_j (s_j - m)) / tau))`, where `a_i = max(1 + m - s_i, 0)` and `b_j = max(s_j + m, 0)` have
    no gradient. Items that are far from their optimum count more. See `CircleLoss` for its use.

    Args:
      scores: `[..., n]` floating-point: similarities. Those outside of [0, 1] count as 0 or 1, and have no gradient.
      labels: numbers `[..., n]`.
      tau: temperature (1 / gamma), positive: a number, or a tensor that broadcasts against the leading axes.
      margin: the margin m, at least 0 and below 1.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`. A list has the mean weight of its items.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Lists without a pair of different labels, and empty
      lists, give 0. A score or label that is not finite makes its list NaN.

    Raises:
      TypeError: `scores` is not floating-point, or an argument has another type.
      ValueError: `tau` is not positive, `margin` is out of range, or shapes do not match.

    Cost: O(n^2) time and memory per list.

    Example:
      >>> round(float(ks.ops.circle_loss([0.9, 0.3, 0.6], [1.0, 0.0, 0.0])), 4)
      15.68

    Source: Y. Sun et al., "Circle Loss: A Unified Perspective of Pair Similarity Optimization", CVPR 2020.
    """
    scores = tf.clip_by_value(lists.scores, 0, 1)
    toward_one = tf.stop_gradient(tf.nn.relu(1 + margin - scores)) * (1 - margin - scores) / lists.tau
    toward_zero = tf.stop_gradient(tf.nn.relu(scores + margin)) * (scores - margin) / lists.tau
    is_pair = lists.labels[:, :, tf.newaxis] > lists.labels[:, tf.newaxis, :]
    if lists.mask is not None:
        is_pair = tf.logical_and(is_pair, tf.logical_and(lists.mask[:, :, tf.newaxis], lists.mask[:, tf.newaxis, :]))
    exponents = toward_one[:, :, tf.newaxis] + toward_zero[:, tf.newaxis, :]
    exponents = tf.where(is_pair, exponents, excluded(exponents.dtype))
    # Relative to the largest exponent, at least 0 for the 1 in the logarithm. The cost does not depend on it.
    peak = tf.stop_gradient(tf.nn.relu(tf.reduce_max(exponents, axis=[1, 2])))
    total = tf.reduce_sum(tf.exp(exponents - peak[:, tf.newaxis, tf.newaxis]), axis=[1, 2])
    return (peak + tf.math.log1p(total + tf.math.expm1(-peak))) * lists.mean_weights()
