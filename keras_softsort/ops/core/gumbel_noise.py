"""Gumbel noise from a stateless seed, with the same numbers eagerly, traced and under XLA."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments

# `RngReadAndSkip` adds this to its counter for each number.
COUNTER_STEP = 256


def seed_tensor(seed: Any) -> tf.Tensor:
    """Return `seed` as an integer tensor of shape [2]."""
    seed = arguments.dense_tensor("seed", seed)
    if not seed.dtype.is_integer:
        raise TypeError(f"seed must hold two integers, got dtype {seed.dtype.name}")
    if not seed.shape.is_compatible_with([2]):
        raise ValueError(f"seed must hold two integers, shape [2], got shape {seed.shape}")
    return seed


def seed_of_call(state: tf.Tensor, replica: Any, num_replicas: Any) -> tf.Tensor:
    """Return two integers that differ between the calls and the replicas that share a state."""
    counter, _, seed = tf.unstack(state)
    return tf.stack([seed, counter // COUNTER_STEP * num_replicas + tf.cast(replica, counter.dtype)])


def noise_scale_tensor(noise_scale: Any, dtype: tf.DType) -> tf.Tensor:
    """Return `noise_scale`, a number of at least 0 or a scalar tensor, as a scalar of `dtype`."""
    if isinstance(noise_scale, (tf.Tensor, tf.Variable)):
        noise_scale = arguments.floating_tensor("noise_scale", noise_scale)
        if noise_scale.shape.rank != 0:
            raise ValueError(f"noise_scale must be a scalar, got shape {noise_scale.shape}")
        return tf.cast(noise_scale, dtype)
    return tf.constant(arguments.non_negative_number("noise_scale", noise_scale), dtype)


def gumbel(shape: Any, seed: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Standard Gumbel noise in float32 or float64, always finite."""
    return -tf.math.log(-tf.math.log(uniform(shape, seed, dtype)))


def uniform(shape: Any, seed: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Uniform numbers in the open interval (0, 1): midpoints of as many cells as the mantissa can distinguish."""
    integer, digits = (tf.int64, 52) if dtype == tf.float64 else (tf.int32, 23)
    bits = tf.random.stateless_uniform(shape, seed, minval=None, maxval=None, dtype=integer, alg="philox")
    cells = tf.bitwise.bitwise_and(bits, tf.constant(2**digits - 1, integer))
    return (tf.cast(cells, dtype) + 0.5) * 2.0**-digits
