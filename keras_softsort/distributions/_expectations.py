"""Expectations over orders: exact for lists with few orders, otherwise a mean over samples with its standard error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_probability as tfp

from keras_softsort._internal import arguments
from keras_softsort.distributions._orders import all_orders

# Lists of at most this many items have few enough orders (8! = 40,320) to sum over all of them.
ENUMERATED_SIZE = 8
ESTIMATE_SAMPLES, ESTIMATE_SEED = 1000, (0, 0)
Function = Callable[[tf.Tensor], tf.Tensor]


class Estimate(NamedTuple):
    """A mean over samples and its standard error."""

    value: tf.Tensor
    standard_error: tf.Tensor


def estimate(distribution: Any, function: Function, num_samples: int, seed: Any) -> Estimate:
    """Estimate the expectation of a function of orders, with an unbiased gradient (score function)."""
    count = arguments.positive_integer("num_samples", num_samples)
    samples = distribution.sample(count, seed=seed)
    values = function(samples)
    mean = tfp.monte_carlo.expectation(lambda _: values, samples, distribution.log_prob, use_reparameterization=False)
    deviation = tf.math.reduce_std(tf.stop_gradient(values), axis=0)
    return Estimate(mean, deviation / math.sqrt(max(count - 1, 1)))


def exact_or_estimate(distribution: Any, function: Function) -> tf.Tensor:
    """The expectation of a function of the orders that `distribution.sample` draws, exact for short lists."""
    size = distribution.logits.shape[-1]
    if size is None or size > ENUMERATED_SIZE:
        return estimate(distribution, function, ESTIMATE_SAMPLES, ESTIMATE_SEED).value
    count = distribution.event_shape[0]
    orders = all_orders(size, count)
    orders = orders.reshape(len(orders), *[1] * (distribution.logits.shape.rank - 1), count)
    log_probs = distribution.log_prob(orders)
    # Samples hold the items that cannot be chosen last, in the order that they have in the mode.
    choices = tf.reduce_sum(tf.cast(distribution.possible(), tf.int32), axis=-1, keepdims=True)
    as_drawn = tf.reduce_all((tf.range(count) < choices) | tf.equal(orders, distribution.mode()), axis=-1)
    # The term of an order that cannot occur would be 0 times infinity, and so would its gradient.
    occurs = tf.logical_and(tf.not_equal(log_probs, -math.inf), as_drawn)
    zeros = tf.zeros_like(log_probs)
    values = tf.where(occurs, function(orders), zeros)
    return tf.reduce_sum(tf.where(occurs, tf.exp(log_probs), zeros) * values, axis=0)
