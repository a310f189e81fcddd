"""Orders of the items of a list: sorted by keys, checked, enumerated and counted, and expectations over them."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from keras_softsort._internal import arguments
from keras_softsort.ops.core.axes import broadcast_leading, flatten_lists, list_size
from keras_softsort.ops.core.choices import choice_costs, choices_in
from keras_softsort.ops.core.order import descending, group_sums, masked_last, valid_counts


def order_by(keys: tf.Tensor, mask: tf.Tensor | None, count: int) -> tf.Tensor:
    """The int32 items `[..., count]` with the largest keys, tied ones by index. Last come keys of -inf, then masked."""
    keys = keys if mask is None else masked_last(keys, mask)
    if keys.shape[-1] is None or count != keys.shape[-1]:
        return tf.math.top_k(keys, count).indices
    return tf.reshape(descending(flatten_lists(keys))[1], tf.shape(keys))


def are_orders(orders: tf.Tensor, size: Any) -> tf.Tensor:
    """Whether int32 `orders` `[B, k]` hold items from 0 to size - 1, each at most once: `[B]`."""
    counts = group_sums(tf.ones_like(orders), tf.clip_by_value(orders, 0, size - 1), size)
    lowest, largest = tf.reduce_min(orders, axis=-1), tf.reduce_max(orders, axis=-1)
    return tf.logical_and(lowest >= 0, tf.logical_and(largest < size, tf.reduce_max(counts, axis=-1) <= 1))


def log_probs_of(orders: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """The log-probability `[...]` of int32 orders `[..., k]` under `logits` `[..., n]`; -inf for others than orders."""
    orders, logits = broadcast_leading([orders, logits], [1, 1])
    result = _of_lists(flatten_lists(orders), flatten_lists(logits))
    return result if orders.shape.rank == 2 else tf.reshape(result, tf.shape(orders)[:-1])


def _of_lists(orders: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Compute the log-probabilities [B] of orders [B, k]."""
    count, size = list_size(orders), list_size(logits)
    are_valid = are_orders(orders, size)
    choices = choices_in(tf.where(are_valid[:, tf.newaxis], orders, tf.range(count)), size)
    is_partial = orders.shape[1] is None or orders.shape[1] != logits.shape[1]
    # Items that are not in the order come last, with a weight of 0.
    weights = choices.at_ranks(tf.cast(tf.range(size) < count, logits.dtype)) if is_partial else None
    costs = choice_costs(choices, logits, weights)
    return tf.where(are_valid, -costs, tf.constant(-math.inf, costs.dtype))


def as_int32(orders: tf.Tensor) -> tf.Tensor:
    """Cast integers to int32. A number beyond int32 becomes its largest or smallest one, which is no item either."""
    # `tf.saturate_cast` has no kernel for uint32 and uint64.
    if orders.dtype.max > tf.int32.max:
        orders = tf.minimum(orders, tf.constant(tf.int32.max, orders.dtype))
    if orders.dtype.min < tf.int32.min:
        orders = tf.maximum(orders, tf.constant(tf.int32.min, orders.dtype))
    return tf.cast(orders, tf.int32)


@functools.lru_cache(maxsize=8)
def all_orders(size: int, count: int) -> np.ndarray:
    """Every order of `count` of `size` items: `[orders, count]` int32."""
    return np.array(list(itertools.permutations(range(size), count)), np.int32).reshape(math.perm(size, count), count)


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
    choices = valid_counts(distribution.possible(), keepdims=True)
    as_drawn = tf.reduce_all((tf.range(count) < choices) | tf.equal(orders, distribution.mode()), axis=-1)
    # The term of an order that cannot occur would be 0 times infinity, and so would its gradient.
    occurs = tf.logical_and(tf.not_equal(log_probs, -math.inf), as_drawn)
    zeros = tf.zeros_like(log_probs)
    values = tf.where(occurs, function(orders), zeros)
    return tf.reduce_sum(tf.where(occurs, tf.exp(log_probs), zeros) * values, axis=0)
