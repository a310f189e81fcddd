"""Expected costs of random orders, with several gradient estimators."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf
import tensorflow_probability as tfp

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort.distributions._without_replacement import set_weights

ESTIMATORS = ("reparameterized", "rloo", "score_function", "without_replacement")
Cost = Callable[[tf.Tensor], tf.Tensor]


@export
def expected_cost(
    distribution: Any, cost: Cost, *, num_samples: int, seed: Any = None, estimator: str = "rloo"
) -> tf.Tensor:
    """Estimate the expected cost `E[cost(z)]` of samples z, with a gradient for the parameters of the distribution.

    Use it to train through decisions that are drawn at random. `estimator` chooses the gradient, which also reaches
    parameters that are used inside `cost`:

    - `"score_function"` (REINFORCE): the mean of `cost(z) grad log p(z)`. Unbiased, with a large variance.
    - `"rloo"` (REINFORCE leave-one-out): the same, after the mean cost of the other samples is subtracted from each
      cost. Unbiased. A good default.
    - `"without_replacement"`: the unordered set estimator, for `PlackettLuce`. Samples are distinct and weighted by
      their probability of being drawn, with a baseline. Unbiased, and exact if the samples are all possible orders.
    - `"reparameterized"`: the derivative of the cost through the samples, for `RelaxedPlackettLuce`, whose costs take
      soft permutations. Biased (by tau) for the expected cost of exact orders.

    Args:
      distribution: `PlackettLuce`, `RelaxedPlackettLuce`, or another TFP distribution.
      cost: function from samples `[num_samples, ..., event]` to costs `[num_samples, ...]`; `"reparameterized"`
        differentiates it.
      num_samples: number of samples, at least 2 for `"rloo"`.
      seed: as for `distribution.sample`. Two integers make the samples reproducible.
      estimator: one of the names above.

    Returns:
      `[...]`, one value for each distribution of the batch, in the dtype of the costs, at least float32.

    Raises:
      ValueError: `estimator` is unknown or does not fit, `num_samples` is out of range, or shapes do not match.
      TypeError: `distribution` is not a TFP distribution, or `cost` is not a function.

    Cost: the samples, their costs and `log_prob`. `"without_replacement"` takes O(num_samples n k) time for its samples
    and O(num_samples^2.5) for their weights.

    Example:
      >>> race = ks.distributions.PlackettLuce([0.0, 0.0, 0.0])
      >>> rank_of_0 = lambda orders: tf.cast(tf.argmin(orders, axis=-1), tf.float32)  # from 0
      >>> round(float(ks.expected_cost(race, rank_of_0, num_samples=6, estimator="without_replacement", seed=1)), 4)
      1.0

    Source: R. Williams, "Simple Statistical Gradient-Following Algorithms", 1992; W. Kool et al., "Buy 4 REINFORCE
    Samples, Get a Baseline for Free!", 2019, and "Estimating Gradients for Discrete Random Variables by Sampling
    without Replacement", ICLR 2020.
    """
    arguments.one_of("estimator", estimator, ESTIMATORS)
    count = arguments.positive_integer("num_samples", num_samples)
    arguments.function("cost", cost)
    if not isinstance(distribution, tfp.distributions.Distribution):
        raise TypeError(f"distribution must be a TFP distribution, such as PlackettLuce, got {distribution!r}")
    reparameterized = distribution.reparameterization_type == tfp.distributions.FULLY_REPARAMETERIZED
    if (estimator == "reparameterized") != reparameterized:
        kind = "reparameterized" if reparameterized else "not reparameterized"
        raise ValueError(f"estimator {estimator!r} does not fit {type(distribution).__name__}, which is {kind}")
    if estimator == "without_replacement":
        return _without_replacement(distribution, cost, count, seed)
    if estimator == "rloo" and count < 2:
        raise ValueError(f"num_samples must be at least 2 with estimator 'rloo', got {count}")
    samples = distribution.sample(count, seed=seed)
    costs = _costs(cost, samples, distribution)
    if reparameterized:
        return tf.reduce_mean(costs, axis=0)
    others = (tf.reduce_sum(costs, axis=0) - costs) / (count - 1) if estimator == "rloo" else tf.zeros_like(costs)
    return tf.reduce_mean(_with_score(costs, others, distribution.log_prob(samples)), axis=0)


def _without_replacement(distribution: Any, cost: Cost, count: int, seed: Any) -> tf.Tensor:
    if not hasattr(distribution, "sample_without_replacement"):
        raise ValueError(
            "estimator 'without_replacement' needs a distribution with sample_without_replacement, such as "
            f"PlackettLuce, got {type(distribution).__name__}"
        )
    samples = distribution.sample_without_replacement(count, seed=seed)
    costs, log_probs = _costs(cost, samples, distribution), distribution.log_prob(samples)
    # If a list has fewer orders than samples, its orders come first, and the samples after them get weight 0.
    place = tf.reshape(tf.range(count, dtype=tf.float64), [count, *[1] * (log_probs.shape.rank - 1)])
    drawn = tf.math.log(place + 0.5) < distribution.log_num_orders()
    log_probs = tf.where(drawn, log_probs, tf.constant(-math.inf, log_probs.dtype))
    weights, given_first = set_weights(tf.stop_gradient(tf.cast(log_probs, tf.float64)))
    weights, given_first = tf.cast(weights, costs.dtype), tf.cast(given_first, costs.dtype)
    # The baseline of a sample comes from the others, so a single sample has none.
    baselines = tf.reduce_sum(given_first * costs, axis=1) if count > 1 else tf.zeros_like(costs)
    possible = tf.where(tf.math.is_inf(log_probs), tf.zeros_like(log_probs), log_probs)
    return tf.reduce_sum(weights * _with_score(costs, baselines, possible), axis=0)


def _with_score(costs: tf.Tensor, baselines: tf.Tensor, log_probs: tf.Tensor) -> tf.Tensor:
    """Costs whose gradient also contains the score function term, relative to baselines."""
    advantages = tf.stop_gradient(costs - baselines)
    return costs + advantages * tf.cast(log_probs - tf.stop_gradient(log_probs), costs.dtype)


def _costs(cost: Cost, samples: tf.Tensor, distribution: Any) -> tf.Tensor:
    costs = tf.convert_to_tensor(cost(samples))
    expected = samples.shape[: samples.shape.rank - distribution.event_shape.rank]
    if not costs.dtype.is_floating or not costs.shape.is_compatible_with(expected):
        raise ValueError(f"cost must give floating-point costs {expected}, got {costs.dtype.name} {costs.shape}")
    return tf.cast(costs, compute_dtype(costs.dtype))
