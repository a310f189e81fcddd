"""The likelihood of orders sampled from a teacher's scores: RankDistil."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops._core import gumbel_noise
from keras_softsort.ops.ranking._likelihood import ListMLEOptions, negative_log_likelihood
from keras_softsort.ops.ranking._lists import RankingLists, finite, per_list, ranking_arguments
from keras_softsort.ops.ranking._sampled_scores import flat_samples, mean_over_samples, repeated


@export
def coupled_rank_distil(
    scores: Any,
    labels: Any,
    *,
    seed: Any,
    temperature: float = 1.0,
    k: int | None = None,
    num_samples: int = 8,
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the mean negative log-likelihood of orders sampled from a teacher's scores (RankDistil).

    The teacher's scores are the logits of a Plackett-Luce distribution, from which orders z are sampled. With the
    scores s, divided by the temperature, the loss of a sample is `-sum_{i <= k} (s_{z_i} - logsumexp_{j >= i}
    s_{z_j})`. The result is the mean over samples.

    Args:
      scores: `[..., n]` floating-point.
      labels: `[..., n]` the teacher's scores, numbers of any sign.
      seed: two integers, the stateless seed of the noise.
      temperature: positive number, in units of the scores.
      k: number of ranks of the sampled orders that count; None for all.
      num_samples: number of samples of each list.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`; they multiply the terms of the items that are chosen.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Lists whose labels are all 0, and empty lists, give
      0. A score or label that is not finite makes the result of its list NaN.

    Raises:
      TypeError: `scores` are not floating-point, or an argument has another type.
      ValueError: `temperature` is not positive, `k` or `num_samples` is below 1, or shapes do not match.

    Cost: O(n log n) time and O(n) memory per sample.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> teacher, scores = [0.0, 90.0, 45.0], tf.constant([0.0, 1.0986123, 0.6931472])  # the order is certain
    >>> round(float(ks.ops.coupled_rank_distil(scores, teacher, seed=[1, 2])), 4)
    1.0986

    Source: S. Reddi, R. Pasumarthi, A. Menon, A. Rawat, F. Yu, S. Kim, A. Veit, S. Kumar, "RankDistil: Knowledge
    Distillation for Ranking", AISTATS 2021.
    """
    temperature = arguments.positive_number("temperature", temperature)
    k = None if k is None else arguments.positive_integer("k", k)
    count = arguments.positive_integer("num_samples", num_samples)
    args = ranking_arguments(scores, labels, mask, weights)
    return _losses(args, temperature, k, count, gumbel_noise.seed_tensor(seed))


@per_list(finite)
def _losses(lists: RankingLists, temperature: float, k: int | None, num_samples: int, seed: tf.Tensor) -> tf.Tensor:
    sampled = repeated(lists, num_samples)._replace(labels=flat_samples(lists.labels, num_samples, 1.0, seed))
    options = ListMLEOptions(k=k, ties="first", temperature=temperature, discount=None)
    losses = mean_over_samples(negative_log_likelihood(sampled, options), num_samples)
    taught = tf.reduce_any(tf.not_equal(lists.labels, 0), axis=-1)
    return tf.where(taught, losses, tf.zeros_like(losses))
