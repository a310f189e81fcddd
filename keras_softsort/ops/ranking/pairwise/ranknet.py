"""RankNet, LambdaRank and LambdaLoss: the logistic loss of all pairs of a list."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._pairs.arguments import pair_options
from keras_softsort.ops.ranking._pairs.list_losses import pairwise_losses
from keras_softsort.ops.ranking._pairs.metric import LambdaWeight


@export
def ranknet(
    scores: Any,
    labels: Any,
    *,
    sigma: float = 1.0,
    lambda_weight: str | LambdaWeight | None = None,
    ties: str = "ignore",
    normalization: str = "pairs",
    k: int | None = None,
    gain: str | None = None,
    discount: str | None = None,
    smooth_fraction: float | None = None,
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the logistic loss of all pairs of items with different labels: RankNet, LambdaRank and LambdaLoss.

    A pair with label_i > label_j and scores s costs `log(1 + exp(-sigma (s_i - s_j)))`, times the weight of item i and
    the lambda weight of the pair. `ranknet_lambdas` is the gradient of the sum of these costs, and `pairwise_logistic`
    is the cost of explicit pairs.

    Args:
      scores: floating-point `[..., n]`.
      labels: numbers `[..., n]`, larger for more relevant items. They may have any sign, except for `"ndcg"` and
        `"mrr"`, which need labels of at least 0.
      sigma: slope of the cost, positive, which is 1 / temperature.
      lambda_weight: the metric whose change weights a pair: `"ndcg"`, `"dcg"`, `"mrr"`, `"map"`, `"precision"` or
        `"label_diff"`; or a `losses.LambdaWeight`, which holds the options below; None gives all pairs weight 1. See
        `RankNetLoss` for this and the next arguments.
      ties: rule for pairs of equal labels, `"ignore"` or `"half"`.
      normalization: divisor of the sum over pairs. `"pairs"`: their number. `"list"`: the number of items. `"none"`: 1.
      k: number of ranks that the metric of `lambda_weight` counts; None for all.
      gain: `"exponential"` (the default) or `"linear"`, for `"ndcg"` and `"dcg"`.
      discount: `"log2"` (the default) or `"reciprocal"`, for `"ndcg"` and `"dcg"`.
      smooth_fraction: number from 0 (LambdaLoss) to 1 (LambdaRank, the default), for `"ndcg"`, `"dcg"` and `"mrr"`.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`, not negative; a pair has the weight of its more relevant item.

    Returns:
      `[...]` in the dtype of `scores`. A list without any pair gives 0. A NaN label, a score that is not finite, or for
      `"ndcg"` and `"mrr"` a label below 0, makes the result of its list NaN. Only the scores have a gradient, and there
      are no second derivatives.

    Raises:
      TypeError: `scores` is not floating-point, or an argument has another type.
      ValueError: `sigma` is not positive; a name is unknown; `k` is below 1; `smooth_fraction` is outside [0, 1]; the
        lambda weight does not use an argument that is given; shapes do not match; or a weight is negative.
      InvalidArgumentError: a weight is negative in a traced function (not checked under XLA).

    Cost: O(n^2) time, including the gradient, and the memory of one block of pairs.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> round(float(ks.ops.ranknet(tf.constant([0.5, 0.2, 0.9]), [2, 0, 1])), 4)
    0.6235

    Source: C. Burges, T. Shaked, E. Renshaw, A. Lazier, M. Deeds, N. Hamilton, G. Hullender, "Learning to Rank using
    Gradient Descent", ICML 2005; the lambda weights: see `RankNetLoss`.
    """
    options = pair_options(
        sigma,
        ties=ties,
        lambda_weight=lambda_weight,
        k=k,
        gain=gain,
        discount=discount,
        smooth_fraction=smooth_fraction,
    )
    return pairwise_losses(scores, labels, options, normalization=normalization, mask=mask, weights=weights)
