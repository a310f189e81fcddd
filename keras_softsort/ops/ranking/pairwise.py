"""Pairwise losses with other costs than RankNet's, and with sampled neighbors."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._noise import NOISE_CHECKS, Noise, mean_over_samples
from keras_softsort.ops.ranking.lambda_weights import LambdaOptions, LambdaWeight
from keras_softsort.ops.ranking.lists import Derivatives, RankingLists, TauArguments
from keras_softsort.ops.ranking.operators import list_operator
from keras_softsort.ops.ranking.pairs import PAIR_CHECKS, have_pairs, pair_derivatives, pair_losses

if TYPE_CHECKING:
    from typing_extensions import Unpack

NEIGHBORS = LambdaOptions("dcg", version=2, neighbors_only=True)


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
    return pair_derivatives(lists, "squared", **options, ties="half")


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
