"""Scores with Gumbel noise: the order of such scores is a sample of the Plackett-Luce distribution."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core import gumbel_noise


def sampled_scores(scores: tf.Tensor, num_samples: int, noise_scale: float, seed: tf.Tensor) -> tf.Tensor:
    """`scores` [batch, n] with Gumbel noise: [num_samples, batch, n]."""
    batch, size = tf.unstack(tf.shape(scores))
    # Items first, so that padding at the end of lists leaves the noise of the others as it is.
    noise = gumbel_noise.gumbel([size, num_samples, batch], seed, scores.dtype)
    return scores + noise_scale * tf.transpose(noise, [1, 2, 0])
