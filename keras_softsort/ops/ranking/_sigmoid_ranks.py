"""Ranks whose comparisons are sigmoids, by all pairs or by a sum of exponentials."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort.ops.core.axes import is_at_most
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.core.tracing import compares_pairs

# Ranks are then off by 5e-8 of their value, and slopes by 6e-7.
STEP = 0.5
GAUSS_NODES = 4
# Beyond, exp(-t A) is below 4e-8, the share of a result that is left out.
LAST_EXPONENT = 17.0
# The largest of so many nodes is still finite in float32.
MAX_NODES = 172


def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """The nodes t_k, rising, and their weights divided by t_k: float32 [MAX_NODES]."""
    points = np.exp(-STEP * np.arange(1, 100))
    weights = STEP * points
    # The Gauss rule of a discrete measure is in the eigenvectors of the matrix of its orthogonal polynomials.
    polynomials, _ = np.linalg.qr(np.sqrt(weights)[:, np.newaxis] * np.vander(points, GAUSS_NODES, increasing=True))
    nodes, vectors = np.linalg.eigh(polynomials.T @ (points[:, np.newaxis] * polynomials))
    others = np.exp(STEP * np.arange(MAX_NODES - GAUSS_NODES))
    shares = np.append(weights.sum() * vectors[0] ** 2 / nodes, np.full(len(others), STEP))
    return np.append(nodes, others).astype(np.float32), shares.astype(np.float32)


_TIMES, _SHARES = _nodes()


def largest_span(count: Any) -> Any:
    """How far below 0 scores may lie for `count` nodes, an integer or a scalar tensor."""
    last = STEP * (tf.cast(count, tf.float32) - (GAUSS_NODES + 1))  # the logarithm of the last node
    return last - math.log(LAST_EXPONENT / 2)


class ExponentialSums:
    """Ranks by a sum of exponentials, which separates the two items of a pair: n exponentials per node in place of n^2.

    The scores [B, n] are float32 within `largest_span(count)` temperatures, [B, 1] or [1, 1], of the largest of their
    list. Masked items have the `_lowest` score. With a = exp(s), the sigmoid of s_j - s_i is a_j / (a_i + a_j), and
    1 / A is the integral of exp(-t A) over t > 0. In log t the trapezoidal rule with step h is off by about
    |Gamma(1 + 2 pi i / h)| of the result, whatever A is. With its nodes t_k

        sum_j sigmoid(s_j - s_i) ~= sum_k h exp(-t_k a_i) sum_j t_k a_j exp(-t_k a_j)

    in which all terms are positive, so no digits are lost. The same nodes integrate t exp(-t A), and so give the slope
    a_i a_j / (a_i + a_j)^2. A Gauss rule of 4 nodes replaces the nodes below 1, where exp(-t A) is nearly straight.
    """

    def __init__(self, scores: tf.Tensor, tau: tf.Tensor, count: Any) -> None:
        self._tau, self._below = tau, _below_largest(scores, tau)
        self._shares = tf.constant(_SHARES)[:count]
        exponents = tf.exp(self._below)[:, :, tf.newaxis] * -tf.constant(_TIMES)[:count]
        self._falls = tf.exp(exponents)
        self._steps = exponents * self._falls  # below 0

    def ranks(self) -> tf.Tensor:
        """1 + sum_{j != i} sigmoid(s_j - s_i): [B, n]."""
        # An item adds 0.5 to its own rank, as in a sum over pairs.
        return 0.5 - tf.reduce_sum(self._falls * self._totals()[:, tf.newaxis, :], axis=2)

    def gradients(self, upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The gradients of the score k, `sum_i (d_i - d_k) slope_ik / tau`, and of tau."""
        upstream = upstream[:, :, tf.newaxis]
        weighted = self._shares * tf.reduce_sum(self._steps * upstream, axis=1)
        differences = weighted[:, tf.newaxis, :] - upstream * self._totals()[:, tf.newaxis, :]
        of_scores = tf.reduce_sum(self._steps * differences, axis=2) / self._tau
        # Masked items may be infinitely low, and their slope is 0.
        falls = tf.math.multiply_no_nan(self._below, of_scores)
        return of_scores, -tf.reduce_sum(falls, axis=1, keepdims=True)

    def _totals(self) -> tf.Tensor:
        """`w_k sum_j -a_j exp(-t_k a_j)` of the weights w_k: [B, nodes]."""
        return self._shares * tf.reduce_sum(self._steps, axis=1)


class ScorePairs:
    """The pairs of lists [B, n] of scores, with temperatures [B, 1] or [1, 1]. Masked items have the `_lowest` score.

    Scores are subtracted before anything else is done to them: beside a score that is far from all others, the
    differences of these are exact.
    """

    def __init__(self, scores: tf.Tensor, tau: tf.Tensor) -> None:
        self._tau = tau
        # The lead of item j over item i in temperatures, and its sigmoid: [B, i, j].
        self._leads = (tf.expand_dims(scores, 1) - tf.expand_dims(scores, 2)) / tf.expand_dims(tau, 2)
        self._shares = tf.sigmoid(self._leads)

    def ranks(self) -> tf.Tensor:
        """1 + sum_{j != i} sigmoid((s_j - s_i) / tau): [B, n]."""
        # The sum contains sigmoid(0) = 0.5 of the item itself, which does not belong to the rank.
        return 0.5 + tf.reduce_sum(self._shares, axis=2)

    def gradients(self, upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The gradients of the score k, `sum_i (d_i - d_k) slope_ki / tau`, as slopes are even, and of tau."""
        differences = tf.expand_dims(upstream, 1) - tf.expand_dims(upstream, 2)
        # One operation for `differences * shares * (1 - shares)`.
        of_leads = tf.raw_ops.SigmoidGrad(y=self._shares, dy=differences)
        # A lead may be infinite, and its slope is then 0.
        falls = tf.reduce_sum(tf.math.multiply_no_nan(self._leads, of_leads), axis=2)
        of_tau = tf.reduce_sum(falls, axis=1, keepdims=True) / (2 * self._tau)
        return tf.reduce_sum(of_leads, axis=2) / self._tau, of_tau


# Lists below the first size compare all pairs, and the gradient need not compute them again. Longer lists take the
# fixed number of nodes if it suffices for the span of their scores, or else one node for every few items.
MIN_SIZE, NUM_NODES, ITEMS_PER_NODE = 250, 32, 3

Way = Callable[[tf.Tensor, tf.Tensor], ScorePairs | ExponentialSums]


def sigmoid_ranks(scores: tf.Tensor, tau: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """1 + sum_{j != i} sigmoid((s_j - s_i) / tau) over the valid items j: [B, n]; undefined where masked."""

    @tf.custom_gradient
    def ranks(scores: tf.Tensor, tau: tf.Tensor) -> tuple:
        # So low that a masked item is ahead of none.
        scores = scores if mask is None else tf.where(mask, scores, _lowest(tau))
        size = scores.shape[1]
        by_pairs = scores.dtype != tf.float32 or is_at_most(size, MIN_SIZE - 1) or compares_pairs(size)
        pairs = ScorePairs(scores, tau) if by_pairs else None

        def compute(result: Callable[[ScorePairs | ExponentialSums], Any]) -> Any:
            if pairs is not None:
                return result(pairs)
            # The gradient computes again what would take n^2 numbers to store: `tf.cond` stores the results of every
            # branch.
            return _by_cheapest(scores, tau, lambda way: result(way(scores, tau)))

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            # Together: an eager call asks for both, and the sums that they share would be computed twice.
            of_scores, of_tau = compute(lambda way: way.gradients(upstream))
            if tau.shape[0] == 1:  # of all lists
                of_tau = tf.reduce_sum(of_tau, axis=0, keepdims=True)
            return of_scores, of_tau

        return compute(lambda way: way.ranks()), gradient

    return ranks(scores, tf.reshape(tau, [-1, 1]))


def _by_cheapest(scores: tf.Tensor, tau: tf.Tensor, compute: Callable[[Way], Any]) -> Any:
    """Call `compute` with the fewest nodes that suffice, or with all pairs."""
    size = tf.shape(scores)[1]
    more = tf.minimum(size // ITEMS_PER_NODE, MAX_NODES)
    below = _below_largest(scores, tau)
    span = -tf.reduce_min(tf.where(scores > _lowest(tau), below, tf.zeros_like(below)))

    def with_nodes(count: Any) -> tuple[tf.Tensor, Callable[[], Any]]:
        """Whether so many nodes suffice, and the result with them."""
        suffice = tf.logical_and(span <= largest_span(count), size >= MIN_SIZE)
        return suffice, lambda: compute(functools.partial(ExponentialSums, count=count))

    return tf.case([with_nodes(NUM_NODES), with_nodes(more)], default=lambda: compute(ScorePairs))


def _lowest(tau: tf.Tensor) -> tf.Tensor:
    """The score of masked items, which does not overflow in temperatures."""
    return excluded(tau.dtype) * tf.minimum(tau, 1)


def _below_largest(scores: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
    """The scores [B, n] relative to the largest of their list, in temperatures."""
    return (scores - tf.reduce_max(scores, axis=1, keepdims=True)) / tau
