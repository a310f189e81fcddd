"""The random state of layers that draw noise in training: a weight, saved with the model and moved on by each call."""

from __future__ import annotations

import numbers
import random
from typing import Any

import tensorflow as tf

from keras_softsort._internal.keras_compat import IS_KERAS_3

AGGREGATION = "only_first_replica" if IS_KERAS_3 else tf.VariableAggregation.ONLY_FIRST_REPLICA


def checked_seed(seed: Any) -> int | None:
    """`seed` as an int, or None."""
    if seed is None:
        return None
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral):
        raise TypeError(f"seed must be an integer or None, got {seed!r}")
    return int(seed)


def add_noise_state(layer: Any, seed: int | None) -> Any:
    """A weight of the layer: its seed and the number of calls that drew noise.

    Without a seed one is drawn from Python's generator, which `keras.utils.set_random_seed` sets.
    """
    start = random.randrange(2**31) if seed is None else seed
    return layer.add_weight(
        name="noise_state",
        shape=(2,),
        dtype="int64",
        initializer=lambda shape, dtype: tf.constant([start, 0], dtype, shape),
        trainable=False,
        # All replicas count alike; what they draw is told apart by `next_seed`.
        aggregation=AGGREGATION,
    )


def next_seed(state: Any) -> tf.Tensor:
    """Two integers that no other call and no other replica gets."""
    context = tf.distribute.get_replica_context()
    replicas, replica = (1, 0) if context is None else (context.num_replicas_in_sync, context.replica_id_in_sync_group)
    seed, calls = tf.unstack(tf.convert_to_tensor(state))
    state.assign(tf.stack([seed, calls + 1]))
    return tf.stack([seed, calls * replicas + tf.cast(replica, calls.dtype)])
