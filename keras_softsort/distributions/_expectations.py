"""Expectations over orders: exact where a list has few of them, else a mean over samples with its standard error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_probability as tfp

from keras_softsort.distributions._orders import all_orders, log_equivalent_orders
from keras_softsort.ops import _checks

# Lists of up to so many items have few enough orders (8! = 40,320) to sum over all of them.
ENUMERATED_SIZE = 8
ESTIMATE_SAMPLES, ESTIMATE_SEED = 1000, (0, 0)
Function = Callable[[tf.Tensor], tf.Tensor]


class Estimate(NamedTuple):
    """A mean over samples, and its standard error."""

    value: tf.Tensor
    standard_error: tf.Tensor


def estimate(distribution: Any, function: Function, num_samples: int, seed: Any) -> Estimate:
    """The expectation of a function of orders, with an unbiased gradient (score function)."""
    count = _checks.positive_integer("num_samples", num_samples)
    samples = distribution.sample(count, seed=seed)
    mean = tfp.monte_carlo.expectation(function, samples, distribution.log_prob, use_reparameterization=False)
    deviation = tf.math.reduce_std(tf.stop_gradient(function(samples)), axis=0)
    return Estimate(mean, deviation / math.sqrt(max(count - 1, 1)))


def exact_or_estimate(distribution: Any, function: Function) -> tf.Tensor:
    """The expectation of a function of orders that does not tell items apart that cannot be chosen."""
    size = distribution.log_scores.shape[-1]
    if size is None or size > ENUMERATED_SIZE:
        return estimate(distribution, function, ESTIMATE_SAMPLES, ESTIMATE_SEED).value
    count = distribution.event_shape[0]
    orders = all_orders(size, count)
    orders = orders.reshape(len(orders), *[1] * (distribution.log_scores.shape.rank - 1), count)
    log_probs = distribution.log_prob(orders)
    possible = log_probs > -math.inf
    # An order that cannot occur would count 0 times infinity, and its gradient would too.
    values = tf.where(possible, function(orders), tf.zeros_like(log_probs))
    equivalent = log_equivalent_orders(distribution.possible(), count)
    return tf.reduce_sum(tf.exp(log_probs - tf.cast(equivalent, log_probs.dtype)) * values, axis=0)
