"""The squared error of the differences of all pairs of a list."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._pairs.arguments import pair_options, scale
from keras_softsort.ops.ranking._pairs.list_losses import pairwise_losses
from keras_softsort.ops.ranking._pairs.metric import LambdaWeight


@export
def pairwise_mse(
    scores: Any,
    labels: Any,
    *,
    temperature: float = 1.0,
    lambda_weight: str | LambdaWeight | None = None,
    normalization: str = "pairs",
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the squared error of the score differences of all pairs.

    A pair of items i and j with labels y and scores s costs `((s_i - s_j) / temperature - (y_i - y_j))^2`, times the
    mean weight of the two items, times the pair's lambda weight. Pairs of equal labels count. Each pair counts once.

    Args:
      scores: `[..., n]` floating-point.
      labels: `[..., n]` numbers of any sign.
      temperature: positive number, in units of the scores.
      lambda_weight: the metric whose change weighs a pair, as for `ranknet`, or a `losses.LambdaWeight`.
      normalization: divisor of the sum over pairs: `"pairs"`, `"list"` or `"none"`, as for `ranknet`.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`, not negative; a pair has the mean weight of its items.

    Returns:
      `[...]` in the dtype of `scores`. Pairs with a masked item are left out. A list of fewer than two items gives 0.
      A score or label that is not finite makes the result of its list NaN. Only the scores have a gradient, and there
      are no second derivatives.

    Raises:
      TypeError: `scores` are not floating-point, or an argument has another type.
      ValueError: `temperature` is not positive, a name is unknown, shapes do not match, or a weight is negative.
      InvalidArgumentError: a weight is negative in a traced function (not checked under XLA).

    Cost: O(n^2) time, including the gradient, and the memory of one block of pairs.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> round(float(ks.ops.pairwise_mse(tf.constant([0.5, 0.2, 0.9]), [2, 0, 1])), 4)
    1.6467

    Source: R. Pasumarthi et al., "TF-Ranking: Scalable TensorFlow Library for Learning-to-Rank", KDD 2019
    (`PairwiseMSELoss`).
    """
    options = pair_options(scale(temperature), cost="squared", lambda_weight=lambda_weight, ties="half")
    return pairwise_losses(scores, labels, options, normalization=normalization, mask=mask, weights=weights)
