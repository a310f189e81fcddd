"""The noise of losses that sample: a loss has no weights to count its calls with, and is never exported."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core import gumbel_noise


def sampled_scores(scores: tf.Tensor, num_samples: int, noise_scale: float, seed: int | None) -> tf.Tensor:
    """`scores` [batch, n] with Gumbel noise, new at each call and in each replica: [num_samples, batch, n]."""
    batch, size = tf.unstack(tf.shape(scores))
    # Items first, so that padding at the end of lists leaves the noise of the others as it is.
    noise = gumbel_noise.gumbel([size, num_samples, batch], fresh_seed(seed), scores.dtype)
    return scores + noise_scale * tf.transpose(noise, [1, 2, 0])


def fresh_seed(seed: int | None) -> tf.Tensor:
    """Two integers from TensorFlow's stateful generator, which `seed` and `tf.random.set_seed` start."""
    drawn = tf.random.uniform([2], maxval=tf.int32.max, dtype=tf.int32, seed=seed)
    context = tf.distribute.get_replica_context()
    # With a seed the replicas' generators start alike.
    return drawn if context is None else tf.bitwise.bitwise_xor(drawn, context.replica_id_in_sync_group)
