"""The logistic loss of neighbors in sampled orders: YetiLoss."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops._core import gumbel_noise
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.ranking._lists import RankingArguments, ranking_arguments, with_leading_axes
from keras_softsort.ops.ranking._pairs.arguments import NORMALIZATIONS, PairOptions, pair_options, scale
from keras_softsort.ops.ranking._pairs.list_losses import normalized_sums, raw_lists
from keras_softsort.ops.ranking._pairs.metric import LambdaWeight
from keras_softsort.ops.ranking._pairs.pair_sums import eager_blocks
from keras_softsort.ops.ranking._sampled_scores import flat_samples, mean_over_samples, repeated

NEIGHBORS = LambdaWeight("dcg", version=2, neighbors_only=True)


@export
def yeti_logistic(
    scores: Any,
    labels: Any,
    *,
    seed: Any,
    temperature: float = 1.0,
    lambda_weight: str | LambdaWeight | None = None,
    normalization: str = "pairs",
    num_samples: int = 8,
    noise_scale: float = 1.0,
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the logistic loss of neighbors in orders sampled from the scores: YetiLoss.

    A sample is `s_i + noise_scale G_i` with independent standard Gumbel noise G. In each sample a pair with label_i >
    label_j costs `log(1 + exp(-(s_i - s_j) / temperature))`, times the weight of item i, times the lambda weight of the
    pair. By default the lambda weight is above 0 only for items that are neighbors in the order of the sample. The
    result is the mean over samples.

    Args:
      scores: `[..., n]` floating-point.
      labels: `[..., n]` numbers of any sign; the greater, the more relevant.
      seed: two integers, the stateless seed of the noise.
      temperature: positive number, in units of the scores.
      lambda_weight: the name of a metric or a `LambdaWeight`, see `RankNetLoss`; None for `LambdaWeight("dcg",
        version=2, neighbors_only=True)`.
      normalization: divisor of the sum over pairs: `"pairs"`, `"list"` or `"none"`, as for `ranknet`.
      num_samples: number of samples of each list.
      noise_scale: factor of the Gumbel noise, at least 0.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`, not negative; a pair has the weight of its more relevant item.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. A list without any pair gives 0. A NaN label or a
      score that is not finite makes the result of its list NaN. Only the scores have a gradient, and there are no
      second derivatives.

    Raises:
      TypeError: `scores` are not floating-point, or an argument has another type.
      ValueError: `temperature` is not positive, `num_samples` is below 1, `noise_scale` is negative, a weight is
        negative, or shapes do not match.

    Cost: O(n^2) time per sample, including the gradient, and the memory of one block of pairs.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> round(float(ks.ops.yeti_logistic(tf.constant([9.0, -9.0, 0.0]), [2.0, 0.0, 1.0], seed=[1, 2])), 2)
    0.0

    Source: I. Lyzhin, A. Ustimenko, A. Gulin, L. Prokhorenkova, "Which Tricks are Important for Learning to Rank?",
    ICML 2023; A. Gulin, I. Kuralenok, D. Pavlov, "Winning The Transfer Learning Track of Yahoo!'s Learning To Rank
    Challenge with YetiRank", JMLR Workshop 14, 2011.
    """
    options = pair_options(scale(temperature), lambda_weight=NEIGHBORS if lambda_weight is None else lambda_weight)
    arguments.one_of("normalization", normalization, NORMALIZATIONS)
    count = arguments.positive_integer("num_samples", num_samples)
    noise_scale = arguments.non_negative_number("noise_scale", noise_scale)
    args = ranking_arguments(scores, labels, mask, weights, non_negative_weights=True)
    how = (normalization, count, noise_scale, eager_blocks(args.scores))
    return _losses(args, options, how, gumbel_noise.seed_tensor(seed))


@traced_if_eager
def _losses(
    args: RankingArguments, options: PairOptions, how: tuple[str, int, float, int | None], seed: tf.Tensor
) -> tf.Tensor:
    normalization, num_samples, noise_scale, blocks = how
    lists = raw_lists(args)
    sampled = repeated(lists, num_samples)._replace(scores=flat_samples(lists.scores, num_samples, noise_scale, seed))
    losses = mean_over_samples(normalized_sums(sampled, options, normalization, blocks), num_samples)
    return with_leading_axes(losses, args.scores)
