"""Scores with Gumbel noise, whose order is a sample of the Plackett-Luce distribution."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core import gumbel_noise


def sampled_scores(scores: tf.Tensor, num_samples: int, noise_scale: float, seed: tf.Tensor) -> tf.Tensor:
    """Add Gumbel noise to `scores` [batch, n]: [num_samples, batch, n]."""
    batch, size = tf.unstack(tf.shape(scores))
    # The item axis comes first, so that padding at the end of lists does not change the noise of the other items.
    noise = gumbel_noise.gumbel([size, num_samples, batch], seed, scores.dtype)
    return scores + noise_scale * tf.transpose(noise, [1, 2, 0])
