"""The hinge loss of all pairs of a list."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._pairs.arguments import pair_options, scale
from keras_softsort.ops.ranking._pairs.list_losses import pairwise_losses
from keras_softsort.ops.ranking._pairs.metric import LambdaWeight


@export
def pairwise_hinge(
    scores: Any,
    labels: Any,
    *,
    temperature: float = 1.0,
    lambda_weight: str | LambdaWeight | None = None,
    normalization: str = "pairs",
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the hinge loss of the pairs of items with different labels.

    A pair with label_i > label_j and scores s costs `max(0, 1 - (s_i - s_j) / temperature)`, times the weight of item
    i, the more relevant one, times the pair's lambda weight. Pairs in the right order by at least `temperature` cost 0.

    Args:
      scores: `[..., n]` floating-point.
      labels: `[..., n]` numbers of any sign; the greater, the more relevant.
      temperature: positive number, in units of the scores.
      lambda_weight: the metric whose change weighs a pair, as for `ranknet`, or a `losses.LambdaWeight`.
      normalization: divisor of the sum over pairs: `"pairs"`, `"list"` or `"none"`, as for `ranknet`.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`, not negative; a pair has the weight of its more relevant item.

    Returns:
      `[...]` in the dtype of `scores`, with the values of `ranknet` for lists without pairs and numbers that are not
      finite. Pairs with a masked item are left out. Only the scores have a gradient, and no second one.

    Raises:
      TypeError: `scores` are not floating-point, or an argument has another type.
      ValueError: `temperature` is not positive, a name is unknown, shapes do not match, or a weight is negative.
      InvalidArgumentError: a weight is negative in a traced function (not checked under XLA).

    Cost: O(n^2) time, including the gradient, and the memory of one block of pairs.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> round(float(ks.ops.pairwise_hinge(tf.constant([0.5, 0.2, 0.9]), [2, 0, 1])), 4)
    0.8

    Source: R. Herbrich, T. Graepel, K. Obermayer, "Large Margin Rank Boundaries for Ordinal Regression", Advances in
    Large Margin Classifiers, 2000.
    """
    options = pair_options(scale(temperature), cost="hinge", lambda_weight=lambda_weight)
    return pairwise_losses(scores, labels, options, normalization=normalization, mask=mask, weights=weights)
