"""Ranks by a sum of exponentials, which separates the two items of a pair.

With a = exp(s), the sigmoid of s_j - s_i is a_j / (a_i + a_j), and 1 / A is the integral of exp(-t A) over t > 0. In
log t the trapezoidal rule with step h is off by about |Gamma(1 + 2 pi i / h)| of the result, whatever A is. With its
nodes t_k

    sum_j sigmoid(s_j - s_i) ~= sum_k h exp(-t_k a_i) sum_j t_k a_j exp(-t_k a_j)

so n items need n exponentials for each node in place of n^2, and all terms are positive, so no digits are lost. The
same nodes integrate t exp(-t A), and so give the slope a_i a_j / (a_i + a_j)^2. A Gauss rule of 4
nodes replaces the nodes below 1, where exp(-t A) is nearly straight.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf

# Ranks are then off by 5e-8 of their value, and slopes by 6e-7.
STEP = 0.5
GAUSS_NODES = 4
# Beyond, exp(-t A) is below 4e-8, the share of a result that is left out.
LAST = 17.0
# The largest of so many nodes is still finite in float32.
MAX_COUNT = 172


def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """The nodes t_k, rising, and their weights divided by t_k: float32 [MAX_COUNT]."""
    points = np.exp(-STEP * np.arange(1, 100))
    weights = STEP * points
    # The Gauss rule of a discrete measure is in the eigenvectors of the matrix of its orthogonal polynomials.
    polynomials, _ = np.linalg.qr(np.sqrt(weights)[:, np.newaxis] * np.vander(points, GAUSS_NODES, increasing=True))
    nodes, vectors = np.linalg.eigh(polynomials.T @ (points[:, np.newaxis] * polynomials))
    others = np.exp(STEP * np.arange(MAX_COUNT - GAUSS_NODES))
    shares = np.append(weights.sum() * vectors[0] ** 2 / nodes, np.full(len(others), STEP))
    return np.append(nodes, others).astype(np.float32), shares.astype(np.float32)


_TIMES, _SHARES = _nodes()


def largest_span(count: Any) -> Any:
    """How far below 0 scores may lie for `count` nodes, an integer or a scalar tensor."""
    last = STEP * (tf.cast(count, tf.float32) - (GAUSS_NODES + 1))  # the logarithm of the last node
    return last - math.log(LAST / 2)


class ExponentialSums:
    """Lists [B, n] of float32 scores between `-largest_span(count)` and 0, in units of the temperature.

    Masked items have scores so low that exp gives 0.
    """

    def __init__(self, scores: tf.Tensor, count: Any) -> None:
        self._shares = tf.constant(_SHARES)[:count]
        exponents = tf.exp(scores)[:, :, tf.newaxis] * -tf.constant(_TIMES)[:count]
        self._falls = tf.exp(exponents)
        self._steps = exponents * self._falls  # below 0

    def ranks(self) -> tf.Tensor:
        """1 + sum_{j != i} sigmoid(s_j - s_i): [B, n]."""
        # As in a sum over pairs, an item adds 0.5 to its own rank.
        return 0.5 - tf.reduce_sum(self._falls * self._totals()[:, tf.newaxis, :], axis=2)

    def gradient(self, upstream: tf.Tensor) -> tf.Tensor:
        """The gradient of item k: `sum_i (d_i - d_k) slope_ik`."""
        upstream = upstream[:, :, tf.newaxis]
        weighted = self._shares * tf.reduce_sum(self._steps * upstream, axis=1)
        differences = weighted[:, tf.newaxis, :] - upstream * self._totals()[:, tf.newaxis, :]
        return tf.reduce_sum(self._steps * differences, axis=2)

    def _totals(self) -> tf.Tensor:
        """`w_k sum_j -a_j exp(-t_k a_j)` of the weights w_k: [B, nodes]."""
        return self._shares * tf.reduce_sum(self._steps, axis=1)
