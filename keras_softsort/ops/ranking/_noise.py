"""Gumbel noise of the scores, and the mean of a loss over samples of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.core import gumbel_noise
from keras_softsort.ops.core.axes import flatten_lists
from keras_softsort.ops.ranking.lists import RankingLists
from keras_softsort.ops.ranking.operators import SEED

NOISE_CHECKS: dict[str, Any] = {
    "num_samples": arguments.positive_integer,
    "noise_scale": arguments.non_negative_number,
    "seed": SEED,
}


def _stochastic_seed(name: str, seed: Any) -> tf.Tensor:
    if seed is None:
        raise ValueError(f"{name} must be two integers with stochastic=True, got None")
    return gumbel_noise.seed_tensor(seed)


STOCHASTIC_CHECKS: dict[str, Any] = {
    **NOISE_CHECKS,
    "stochastic": arguments.boolean,
    "seed": SEED._replace(called=_stochastic_seed, only_if="stochastic"),
}


class Noise(NamedTuple):
    """Gumbel noise of samples of the scores."""

    num_samples: int
    noise_scale: float
    seed: tf.Tensor


def sampled_scores(scores: tf.Tensor, noise: Noise) -> tf.Tensor:
    """Add Gumbel noise to `scores` [batch, n]: [num_samples, batch, n]."""
    batch, size = tf.unstack(tf.shape(scores))
    # The item axis comes first, so that padding at the end of lists does not change the noise of the other items.
    drawn = gumbel_noise.gumbel([size, noise.num_samples, batch], noise.seed, scores.dtype)
    return scores + noise.noise_scale * tf.transpose(drawn, [1, 2, 0])


def mean_over_samples(
    lists: RankingLists,
    noise: Noise | None,
    losses_of: Callable[..., tf.Tensor],
    *options: Any,
    of: str = "scores",
    **named: Any,
) -> tf.Tensor:
    """The mean of `losses_of(lists, *options, **named)` [B] over samples of the scores or labels, if there is noise."""
    if noise is None:
        return losses_of(lists, *options, **named)

    def repeated(part: Any) -> Any:
        is_per_list = tf.is_tensor(part) and part.shape.rank
        return tf.tile(part, [noise.num_samples, *[1] * (part.shape.rank - 1)]) if is_per_list else part

    samples = flatten_lists(sampled_scores(getattr(lists, of), noise))
    losses = losses_of(RankingLists(*map(repeated, lists))._replace(**{of: samples}), *options, **named)
    return tf.reduce_mean(tf.reshape(losses, [noise.num_samples, -1]), axis=0)
