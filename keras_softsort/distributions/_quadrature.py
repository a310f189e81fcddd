"""Integrals over an exponential time, by which independent Gumbel keys are compared.

With t = exp(-G) for a Gumbel key G of location 0, a key of location b is below G with probability exp(-t exp(b)).
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

# In x = log t the integrand is analytic in a strip of half width pi / 2, where the trapezoidal rule errs by about
# exp(-pi^2 / STEP) = 5e-15; what lies outside of the range is below exp(-36) = 2e-16.
STEP = 0.3
LOG_TIMES = np.arange(-36.0, 4.5, STEP)


def log_times() -> tf.Tensor:
    """The nodes, as log t: [nodes] float64."""
    return tf.constant(LOG_TIMES, tf.float64)


def log_weights() -> tf.Tensor:
    """Logs of the weights of the nodes in the integral of `exp(-t) g(t)` over t > 0: [nodes]."""
    return tf.constant(LOG_TIMES - np.exp(LOG_TIMES) + np.log(STEP), tf.float64)
