"""RankNet: the logistic loss of all pairs of a list, and its gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.ranking.lambda_weights import LAMBDA_WEIGHT, LambdaWeight
from keras_softsort.ops.ranking.lists import Derivatives, RankingLists, TauArguments, UnweightedArguments
from keras_softsort.ops.ranking.operators import list_operator
from keras_softsort.ops.ranking.pairs import PAIR_CHECKS, have_pairs, pair_derivatives, pair_lambdas, pair_losses

if TYPE_CHECKING:
    from typing_extensions import Unpack


check_ties = arguments.choice("half", "ignore")


@export
@list_operator(have_pairs, tau=1.0, non_negative_weights=True, **PAIR_CHECKS, ties=check_ties)
def ranknet_loss(
    lists: RankingLists,
    *,
    lambda_weight: str | LambdaWeight | None = None,
    ties: str = "ignore",
    normalization: str = "auto",
    **shared: Unpack[TauArguments],
) -> tf.Tensor:
    """Compute the logistic loss of all pairs of items with different labels: RankNet, LambdaRank and LambdaLoss.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    A pair with label_i > label_j and scores s costs `C_ij = log(1 + exp(-(s_i - s_j) / tau))`, times the weight of item
    i and the lambda weight of the pair. `ranknet_lambdas` is the gradient of the sum of these costs. Pairs that are
    given as such cost `weight * tf.math.softplus(-score_difference / tau)`. See `RankNetLoss` for its use.

    Args:
      scores: floating-point `[..., n]`.
      labels: numbers `[..., n]`, larger for more relevant items; at least 0 for `"ndcg"` and `"mrr"`.
      tau: temperature in units of the scores, positive: a number, or a tensor that broadcasts against the leading axes.
        RankNet's sigma is 1 / tau.
      lambda_weight: the metric whose change weights a pair: `"ndcg"`, `"dcg"`, `"mrr"`, `"map"` or `"label_diff"`; or a
        `losses.LambdaWeight`, which has the formulas and options; None for 1.
      ties: rule for pairs of equal labels. `"ignore"` leaves them out. With `"half"` (the target 1/2) they cost
        `(C_ij + C_ji) / 2`, times the mean weight of the two items; with a lambda weight they cost 0.
      normalization: divisor of the sum over pairs. `"pairs"`: their number. `"list"`: the number of items. `"none"`: 1.
        `"auto"`: `"none"` with a lambda weight, since with the mean over pairs long lists would count less, else
        `"pairs"`. Weights do not change it.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`, not negative; a pair has the weight of its more relevant item.

    Returns:
      `[...]` in the dtype of `scores`. Pairs with a masked item are left out. A list without any pair gives 0. A NaN
      label, a score that is not finite, or for `"ndcg"` and `"mrr"` a label below 0, makes its list NaN. Only scores
      and `tau` have a gradient, and there are no second derivatives.

    Raises:
      TypeError: `scores` is not floating-point, or an argument has another type.
      ValueError: `tau` is not positive, a name is unknown, shapes do not match, or a weight is negative (an
        InvalidArgumentError in a traced function; not checked under XLA).

    Cost: O(n^2) time, including the gradient, and the memory of one block of pairs.

    Example:
      >>> round(float(ks.ops.ranknet_loss([0.5, 0.2, 0.9], [2, 0, 1])), 4)
      0.6235

    Source: C. Burges et al., "Learning to Rank using Gradient Descent", ICML 2005; see also `losses.LambdaWeight`.
    """
    return pair_losses(lists, "logistic", lambda_weight, normalization, ties)


@ranknet_loss.derivatives
def ranknet_derivatives(lists: RankingLists, **options: Any) -> Derivatives:
    """Compute the derivatives of `ranknet_loss`."""
    return pair_derivatives(lists, "logistic", **options)


@export
@list_operator(have_pairs, tau=1.0, takes_weights=False, lambda_weight=LAMBDA_WEIGHT, ties=check_ties)
def ranknet_lambdas(
    lists: RankingLists,
    *,
    ties: str = "ignore",
    lambda_weight: str | LambdaWeight | None = None,
    **shared: Unpack[UnweightedArguments],
) -> tf.Tensor:
    """Compute RankNet's lambdas: the gradient of the sum of a list's pair costs with respect to its scores.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    Use it for training loops of your own, as those of trees. `lambda_i = sum_j l_ij`, where
    `l_ij = -W_ij / tau / (1 + exp((s_i - s_j) / tau))` and `l_ji = -l_ij` for each pair with label_i > label_j. It is
    the gradient of `ranknet_loss` with `normalization="none"`.

    Args:
      scores, tau, lambda_weight, mask: as in `ranknet_loss`; W are the lambda weights.
      labels: numbers `[..., n]` of any sign, larger for more relevant items. Negative ones do not mark padding here.
      ties: rule for pairs of equal labels. `"ignore"` leaves them out. With `"half"` they pull their scores together,
        with `l_ij = (sigmoid((s_i - s_j) / tau) - 1/2) / tau`.

    The result `[..., n]` sums to 0 in each list and has no gradient. Masked items get 0. Empty lists give empty
    results. Numbers that are not finite, errors and cost are as in `ranknet_loss`.

    Example:
      >>> ks.ops.ranknet_lambdas([0.0, 0.0, 0.0], [2.0, 1.0, 1.0]).numpy().tolist()
      [-1.0, 0.5, 0.5]

    Source: C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", MSR-TR-2010-82, 2010.
    """
    return pair_lambdas(lists, lambda_weight, ties)
