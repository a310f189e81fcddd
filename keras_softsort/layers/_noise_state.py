"""Noise of layers in training: its state, a weight that is saved with the model, and the axis of the samples."""

from __future__ import annotations

import random
from typing import Any

import tensorflow as tf

from keras_softsort._keras.compat import IS_KERAS_3
from keras_softsort.ops.core.gumbel_noise import seed_of_call

# `RngReadAndSkip` is the only operation that atomically reads and advances a variable. It expects a Philox counter.
PHILOX = 1
AGGREGATION = "only_first_replica" if IS_KERAS_3 else tf.VariableAggregation.ONLY_FIRST_REPLICA


def add_noise_state(layer: Any, seed: int | None) -> Any:
    """Add a weight with 256 times the number of calls that drew noise (two words), and the seed.

    If `seed` is None, a seed is drawn from Python's generator, which `keras.utils.set_random_seed` sets.
    """
    start = random.randrange(2**31) if seed is None else seed
    return layer.add_weight(
        name="noise_state",
        shape=(3,),
        dtype="int64",
        initializer=lambda shape, dtype: tf.constant([0, 0, start], dtype, shape),
        trainable=False,
        # All replicas have the same count; `next_seed` makes their seeds differ.
        aggregation=AGGREGATION,
    )


def sample_axis(num_samples: int | None) -> tuple[int, ...]:
    """The sample axis of the shape of an output: none if `num_samples` is None."""
    return () if num_samples is None else (num_samples,)


def next_seed(state: Any) -> tf.Tensor:
    """Return two integers that differ between calls, threads and replicas, and advance the state."""
    context = tf.distribute.get_replica_context()
    replicas, replica = (1, 0) if context is None else (context.num_replicas_in_sync, context.replica_id_in_sync_group)
    variable = state.value if IS_KERAS_3 else state
    # Outside of a replica context, a variable of a strategy has no handle.
    copies = tf.distribute.get_strategy().experimental_local_results(variable) if context is None else [variable]
    one = tf.constant(1, tf.uint64)
    before = [tf.raw_ops.RngReadAndSkip(resource=copy.handle, alg=PHILOX, delta=one) for copy in copies]
    return seed_of_call(before[0], replica, replicas)
