"""The seeds of losses that sample: a loss has no weights to count its calls with, and is never exported."""

from __future__ import annotations

import tensorflow as tf


def fresh_seed(seed: int | None) -> tf.Tensor:
    """Two integers from TensorFlow's stateful generator, which `seed` and `tf.random.set_seed` start."""
    drawn = tf.random.uniform([2], maxval=tf.int32.max, dtype=tf.int32, seed=seed)
    context = tf.distribute.get_replica_context()
    # With a seed the replicas' generators start alike.
    return drawn if context is None else tf.bitwise.bitwise_xor(drawn, context.replica_id_in_sync_group)
