"""The random state of layers that draw noise in training: a weight, saved with the model and moved on by each call."""

from __future__ import annotations

import numbers
import random
from typing import Any

import tensorflow as tf

from keras_softsort._internal.keras_compat import IS_KERAS_3

# `RngReadAndSkip`, the only operation that reads and advances a variable at once, is made for counters of Philox.
PHILOX, COUNTER_STEP = 1, 256
AGGREGATION = "only_first_replica" if IS_KERAS_3 else tf.VariableAggregation.ONLY_FIRST_REPLICA


def checked_seed(seed: Any) -> int | None:
    """`seed` as an int, or None."""
    if seed is None:
        return None
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral):
        raise TypeError(f"seed must be an integer or None, got {seed!r}")
    return int(seed)


def add_noise_state(layer: Any, seed: int | None) -> Any:
    """A weight of the layer: the number of calls that drew noise times 256, as a number of two words, and the seed.

    Without a seed one is drawn from Python's generator, which `keras.utils.set_random_seed` sets.
    """
    start = random.randrange(2**31) if seed is None else seed
    return layer.add_weight(
        name="noise_state",
        shape=(3,),
        dtype="int64",
        initializer=lambda shape, dtype: tf.constant([0, 0, start], dtype, shape),
        trainable=False,
        # All replicas count alike; what they draw is told apart by `next_seed`.
        aggregation=AGGREGATION,
    )


def next_seed(state: Any) -> tf.Tensor:
    """Two integers that no other call, no other thread and no other replica gets."""
    context = tf.distribute.get_replica_context()
    replicas, replica = (1, 0) if context is None else (context.num_replicas_in_sync, context.replica_id_in_sync_group)
    variable = state.value if IS_KERAS_3 else state
    # Outside of replicas, a variable of a strategy has no handle of its own.
    copies = tf.distribute.get_strategy().experimental_local_results(variable) if context is None else [variable]
    one = tf.constant(1, tf.uint64)
    before = [tf.raw_ops.RngReadAndSkip(resource=copy.handle, alg=PHILOX, delta=one) for copy in copies]
    counter, _, seed = tf.unstack(before[0])
    return tf.stack([seed, counter // COUNTER_STEP * replicas + tf.cast(replica, counter.dtype)])
