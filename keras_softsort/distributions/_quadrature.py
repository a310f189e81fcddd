"""Quadrature over an exponential time, used to compare independent Gumbel keys.

With t = exp(-G) for a Gumbel key G of location 0, a key of location b is below G with probability exp(-t exp(b)).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

# In x = log t the integrand is analytic in a strip of half width pi / 2, so the error of the trapezoidal rule is about
# exp(-pi^2 / STEP) = 5e-15. The integral below the first node is less than exp(-36) = 2e-16. An integrand that counts
# `count` keys has features as narrow as 1 / sqrt(count), and a peak at t = count if the keys are improbable.
STEP, FIRST = 0.3, -36.0


class Quadrature(NamedTuple):
    """Nodes log t and the logs of their weights, for the integral of `exp(-t) g(t)` over t > 0: float64 [nodes]."""

    log_times: tf.Tensor
    log_weights: tf.Tensor


def quadrature(count: Any) -> Quadrature:
    """Nodes and weights for integrands that count up to `count` keys, a number or a scalar tensor."""
    if tf.is_tensor(count):
        count = tf.cast(count, tf.float64)
        step = STEP / tf.sqrt(1 + count / 2)
        log_times = tf.range(FIRST, tf.math.log(90 + 3 * count), step)
    else:  # a static number of nodes
        step = tf.constant(STEP / np.sqrt(1 + count / 2), tf.float64)
        log_times = tf.constant(np.arange(FIRST, np.log(90 + 3 * count), STEP / np.sqrt(1 + count / 2)), tf.float64)
    return Quadrature(log_times, log_times - tf.exp(log_times) + tf.math.log(step))
