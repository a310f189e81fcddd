"""Scores with Gumbel noise, whose order is a sample of the Plackett-Luce distribution."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort.ops._core import gumbel_noise
from keras_softsort.ops.ranking._lists import RankingLists


def sampled_scores(scores: tf.Tensor, num_samples: int, noise_scale: float, seed: tf.Tensor) -> tf.Tensor:
    """Add Gumbel noise to `scores` [batch, n]: [num_samples, batch, n]."""
    batch, size = tf.unstack(tf.shape(scores))
    # The item axis comes first, so that padding at the end of lists does not change the noise of the other items.
    noise = gumbel_noise.gumbel([size, num_samples, batch], seed, scores.dtype)
    return scores + noise_scale * tf.transpose(noise, [1, 2, 0])


def flat_samples(scores: tf.Tensor, num_samples: int, noise_scale: float, seed: tf.Tensor) -> tf.Tensor:
    """The samples of all lists, one after another: [num_samples * batch, n]."""
    batch, size = tf.unstack(tf.shape(scores))
    return tf.reshape(sampled_scores(scores, num_samples, noise_scale, seed), [num_samples * batch, size])


def repeated(lists: RankingLists, num_samples: int) -> RankingLists:
    """The lists, once for each sample."""

    def tiled(part: Any) -> Any:
        is_per_list = tf.is_tensor(part) and part.shape.rank
        return tf.tile(part, [num_samples, *[1] * (part.shape.rank - 1)]) if is_per_list else part

    return RankingLists(*map(tiled, lists))


def mean_over_samples(losses: tf.Tensor, num_samples: int) -> tf.Tensor:
    """The mean loss of each list's samples: [batch]."""
    return tf.reduce_mean(tf.reshape(losses, [num_samples, tf.shape(losses)[0] // num_samples]), axis=0)
