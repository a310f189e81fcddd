"""Minus the NDCG with smooth ranks of scores with Gumbel noise: GumbelApproxNDCG."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops._core import gumbel_noise
from keras_softsort.ops.ranking._dcg import NDCGOptions, ndcg_options
from keras_softsort.ops.ranking._lists import RankingLists, finite_with_gain, per_list, ranking_arguments
from keras_softsort.ops.ranking._sampled_scores import flat_samples, mean_over_samples, repeated
from keras_softsort.ops.ranking._smooth_ndcg import approx_ndcg_losses


@export
def gumbel_approx_ndcg(
    scores: Any,
    labels: Any,
    *,
    seed: Any,
    tau: Any = 0.1,
    k: int | None = None,
    gain: str = "exponential",
    discount: str = "log2",
    normalization: str = "ideal",
    num_samples: int = 8,
    noise_scale: float = 1.0,
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the mean of ApproxNDCG over samples of the scores with Gumbel noise.

    A sample is `s_i + noise_scale G_i` with independent standard Gumbel noise G. With `noise_scale=1` the order of a
    sample has the Plackett-Luce distribution of the scores. The result is the mean of `approx_ndcg` over the samples.

    Args:
      scores: `[..., n]` floating-point.
      labels: `[..., n]` numbers of at least 0: relevance.
      seed: two integers, the stateless seed of the noise.
      tau: temperature, positive, in units of the scores with their noise.
      k: number of ranks that count; None for all.
      gain: gain of a label l: `"exponential"`, 2^l - 1, or `"linear"`, l.
      discount: discount of rank r: `"log2"`, 1 / log2(1 + r), or `"reciprocal"`, 1 / r.
      normalization: `"ideal"` divides by the DCG of the best order, which gives NDCG; `"none"` gives DCG.
      num_samples: number of samples of each list.
      noise_scale: factor of the Gumbel noise, at least 0.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`; they multiply the gains in the DCG and not in the ideal one.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Lists without a label above 0, and empty lists, give
      0. A score or label that is not finite, or a label below 0, makes the result of its list NaN.

    Raises:
      TypeError: `scores` are not floating-point, or an argument has another type.
      ValueError: `tau` is not positive, `k` or `num_samples` is below 1, `noise_scale` is negative, or shapes do not
        match.

    Cost: that of `approx_ndcg`, per sample.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> round(float(ks.ops.gumbel_approx_ndcg(tf.constant([9.0, -9.0, 0.0]), [2.0, 0.0, 1.0], seed=[1, 2])), 2)
    -1.0

    Source: S. Bruch, S. Han, M. Bendersky, M. Najork, "A Stochastic Treatment of Learning to Rank Scoring Functions",
    WSDM 2020.
    """
    options = ndcg_options(k, gain, discount, normalization, ranks_are_soft=True)
    count = arguments.positive_integer("num_samples", num_samples)
    noise_scale = arguments.non_negative_number("noise_scale", noise_scale)
    args = ranking_arguments(scores, labels, mask, weights, tau=tau)
    return _losses(args, options, count, noise_scale, gumbel_noise.seed_tensor(seed))


@per_list(finite_with_gain)
def _losses(
    lists: RankingLists, options: NDCGOptions, num_samples: int, noise_scale: float, seed: tf.Tensor
) -> tf.Tensor:
    sampled = repeated(lists, num_samples)._replace(scores=flat_samples(lists.scores, num_samples, noise_scale, seed))
    return mean_over_samples(approx_ndcg_losses(sampled, options), num_samples)
