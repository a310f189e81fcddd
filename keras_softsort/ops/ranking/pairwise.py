"""Pairwise losses: RankNet, other costs of pairs than its own, and sampled neighbors."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._noise import NOISE_CHECKS, Noise, mean_over_samples
from keras_softsort.ops.ranking.lambda_weights import LAMBDA_WEIGHT, LambdaOptions, LambdaWeight
from keras_softsort.ops.ranking.lists import Derivatives, RankingLists, TauArguments, UnweightedArguments
from keras_softsort.ops.ranking.operators import list_operator
from keras_softsort.ops.ranking.pairs import pair_derivatives, pair_losses

if TYPE_CHECKING:
    from typing_extensions import Unpack

NEIGHBORS = LambdaOptions("dcg", version=2, neighbors_only=True)
check_ties = arguments.choice("half", "ignore")
# The checks of the options that pairwise losses share.
PAIR_CHECKS: dict[str, Any] = {
    "lambda_weight": LAMBDA_WEIGHT,
    "normalization": arguments.choice("auto", "list", "none", "pairs"),
}


def have_pairs(
    scores: tf.Tensor, labels: tf.Tensor, lambda_weight: LambdaOptions | None, cost: str = "logistic", **_: Any
) -> tf.Tensor:
    """Whether pairs with items [B, n] have a cost. Labels may be infinite where only their order counts."""
    readable = tf.logical_and(tf.math.is_finite(scores), tf.logical_not(tf.math.is_nan(labels)))
    if lambda_weight is not None and lambda_weight.needs_gain():
        readable = tf.logical_and(readable, labels >= 0)
    if cost == "squared" or (lambda_weight is not None and lambda_weight.metric == "label_diff"):
        readable = tf.logical_and(readable, tf.math.is_finite(labels))
    return readable


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
    i and the lambda weight of the pair. `ranknet_lambdas` is the gradient of the sum of these costs. If your data are
    pairs and not lists, compute `weight * tf.math.softplus(-score_difference / tau)`. See `RankNetLoss` for its use.

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
    return Derivatives(*pair_derivatives(lists, "logistic", **options))


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
    (slopes,) = pair_derivatives(lists, "logistic", lambda_weight, "none", ties, orders=1)
    return tf.stop_gradient(slopes)


@export
@list_operator(have_pairs, tau=1.0, non_negative_weights=True, **PAIR_CHECKS)
def pairwise_hinge_loss(
    lists: RankingLists,
    *,
    lambda_weight: str | LambdaWeight | None = None,
    normalization: str = "auto",
    **shared: Unpack[TauArguments],
) -> tf.Tensor:
    """Compute the hinge loss of the pairs of items with different labels.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    A pair with label_i > label_j and scores s costs `max(0, 1 - (s_i - s_j) / tau)`, times the weight of item i and the
    lambda weight of the pair. Pairs in the right order by at least `tau` cost 0. Results, errors and cost are those of
    `ranknet_loss`. See `PairwiseHingeLoss` for its use.

    Args:
      scores, labels, tau, lambda_weight, normalization, mask, weights: as in `ranknet_loss`.

    Example:
      >>> round(float(ks.ops.pairwise_hinge_loss([0.5, 0.2, 0.9], [2, 0, 1])), 4)
      0.8

    Source: R. Herbrich et al., "Large Margin Rank Boundaries for Ordinal Regression", Advances in Large Margin
    Classifiers, 2000.
    """
    return pair_losses(lists, "hinge", lambda_weight, normalization)


@export
@list_operator(functools.partial(have_pairs, cost="squared"), tau=1.0, non_negative_weights=True, **PAIR_CHECKS)
def pairwise_mse_loss(
    lists: RankingLists,
    *,
    lambda_weight: str | LambdaWeight | None = None,
    normalization: str = "auto",
    **shared: Unpack[TauArguments],
) -> tf.Tensor:
    """Compute the squared error of the score differences of all pairs.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    A pair of items i and j with labels y and scores s costs `((s_i - s_j) / tau - (y_i - y_j))^2`, times the mean
    weight of the two items, times the pair's lambda weight. Pairs of equal labels count. Each pair counts once. See
    `PairwiseMSELoss` for its use.

    Args:
      scores, tau, lambda_weight, normalization, mask: as in `ranknet_loss`.
      labels: numbers `[..., n]` of any sign.
      weights: numbers that broadcast against `[..., n]`, not negative; a pair has the mean weight of its items.

    A list of fewer than two items gives 0. A score or label that is not finite makes its list NaN. Other results,
    errors and cost are those of `ranknet_loss`.

    Example:
      >>> round(float(ks.ops.pairwise_mse_loss([0.5, 0.2, 0.9], [2, 0, 1])), 4)
      1.6467

    Source: R. Pasumarthi et al., "TF-Ranking: Scalable TensorFlow Library for Learning-to-Rank", KDD 2019
    (`PairwiseMSELoss`).
    """
    return pair_losses(lists, "squared", lambda_weight, normalization, ties="half")


@pairwise_mse_loss.derivatives
def pairwise_mse_derivatives(lists: RankingLists, **options: Any) -> Derivatives:
    """Compute the derivatives of `pairwise_mse_loss`."""
    return Derivatives(*pair_derivatives(lists, "squared", **options, ties="half"))


@export
@list_operator(have_pairs, tau=1.0, non_negative_weights=True, **PAIR_CHECKS)
def pairwise_soft_zero_one_loss(
    lists: RankingLists,
    *,
    lambda_weight: str | LambdaWeight | None = None,
    normalization: str = "auto",
    **shared: Unpack[TauArguments],
) -> tf.Tensor:
    """Compute the soft zero-one loss of the pairs of items with different labels.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    A pair with label_i > label_j and scores s costs `1 / (1 + exp((s_i - s_j) / tau))`, times the weight of item i and
    the lambda weight of the pair. As tau goes to 0 this counts the wrong pairs, so the mean over pairs becomes (1 -
    Kendall's tau) / 2. Results, errors and cost are those of `ranknet_loss`. See `PairwiseSoftZeroOneLoss` for its use.

    Args:
      scores, labels, tau, lambda_weight, normalization, mask, weights: as in `ranknet_loss`.

    Example:
      >>> round(float(ks.ops.pairwise_soft_zero_one_loss([0.5, 0.2, 0.9], [2, 0, 1])), 4)
      0.452

    Source: Y. Song et al., "Training Deep Neural Networks via Direct Loss Minimization", ICML 2016, for the aim;
    R. Pasumarthi et al., "TF-Ranking", KDD 2019, for the smooth count.
    """
    return pair_losses(lists, "soft_zero_one", lambda_weight, normalization)


@export
@list_operator(have_pairs, tau=1.0, non_negative_weights=True, **PAIR_CHECKS, **NOISE_CHECKS)
def yeti_logistic_loss(
    lists: RankingLists,
    *,
    seed: Any,
    lambda_weight: str | LambdaWeight | None = None,
    normalization: str = "auto",
    num_samples: int = 8,
    noise_scale: float = 1.0,
    **shared: Unpack[TauArguments],
) -> tf.Tensor:
    """Compute the logistic loss of neighbors in orders sampled from the scores: YetiLoss.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    A sample is `s_i + noise_scale G_i` with independent standard Gumbel noise G. In each sample a pair costs as in
    `ranknet_loss`. By default its lambda weight is above 0 only for items that are neighbors in the order of the
    sample. The result is the mean over samples. Results, errors and the cost of a sample are those of `ranknet_loss`.
    See `YetiLogisticLoss` for its use.

    Args:
      scores, labels, tau, normalization, mask, weights: as in `ranknet_loss`.
      seed: two integers, the stateless seed of the noise.
      lambda_weight: as in `ranknet_loss`; None for `LambdaWeight("dcg", version=2, neighbors_only=True)`.
      num_samples: number of samples per list, at least 1.
      noise_scale: factor of the Gumbel noise, at least 0.

    Example:
      >>> round(float(ks.ops.yeti_logistic_loss([9.0, -9.0, 0.0], [2.0, 0.0, 1.0], seed=[1, 2])), 2)
      0.0

    Source: I. Lyzhin et al., "Which Tricks are Important for Learning to Rank?", ICML 2023; A. Gulin et al., "Winning
    The Transfer Learning Track of Yahoo!'s Learning To Rank Challenge with YetiRank", JMLR Workshop 14, 2011.
    """
    noise, weight = Noise(num_samples, noise_scale, seed), lambda_weight or NEIGHBORS
    return mean_over_samples(lists, noise, pair_losses, "logistic", weight, normalization)
