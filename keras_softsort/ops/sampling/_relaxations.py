"""Relaxations of choosing one or k of n items by keys: a softmax, successive softmaxes, and a threshold."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

from keras_softsort._internal.not_a_number import or_nan
from keras_softsort.ops.core.temperature import is_nan_or_infinity

# For a larger weight p, log(1 - p) is computed from the weights of the other items, since 1 - p loses precision. At
# most one item can have a weight above 0.5, and the margin keeps that true when p is rounded.
MAX_PRECISE_WEIGHT = 0.75
# Up to this many rounds are unrolled. TensorFlow then differentiates them, also to second order.
MAX_UNROLLED_K = 8
# The threshold of n items is known within log(n), at most 20, before its bisection.
BISECTIONS = 8


def relaxed_choice(keys: tf.Tensor, tau: tf.Tensor | None) -> tf.Tensor:
    """Compute the softmax of `keys / tau`: `[..., n]`, for tau a scalar, `[..., 1]`, or None for 1.

    Keys of -inf get 0, even if all are. NaN and +inf make their list NaN.
    """
    peak = tf.stop_gradient(tf.reduce_max(keys, axis=-1, keepdims=True))
    # Not -inf, from which -inf cannot be subtracted.
    below = keys - tf.maximum(peak, keys.dtype.min)
    # A gradient that is not clipped makes the rest of the list NaN, too.
    return _weights_below_peak(below if tau is None else scaled(below, or_nan(tau, is_nan_or_infinity(peak))))


@tf.custom_gradient
def _weights_below_peak(ratio: tf.Tensor) -> tuple:
    """Compute the softmax over the last axis, for a largest ratio of 0. It is 0 if all are -inf.

    Weights of 0 get no gradient, even if the gradient of their result is not finite. `tf.nn.softmax` would
    give NaN in both cases, and takes longer to start on a CPU.
    """
    terms = tf.exp(ratio)
    weights = tf.math.divide_no_nan(terms, tf.reduce_sum(terms, axis=-1, keepdims=True))

    def gradient(upstream: tf.Tensor) -> tf.Tensor:
        mean = tf.reduce_sum(tf.math.multiply_no_nan(upstream, weights), axis=-1, keepdims=True)
        return tf.math.multiply_no_nan(upstream - mean, weights)

    return weights, gradient


def relaxed_subset(keys: tf.Tensor, tau: tf.Tensor, open_items: tf.Tensor, k: int) -> tf.Tensor:
    """Add up k softmaxes, with `alpha <- alpha + log(1 - softmax(alpha / tau))` between them: `[..., n]`.

    tau is `[..., 1]`. `open_items`, bool `[..., n]`, marks the items that can be chosen, at least k > 1 in each list.
    """
    if k <= MAX_UNROLLED_K:
        return _rounds(keys, tau, open_items, k, unroll=True)

    @tf.custom_gradient
    def run(keys: tf.Tensor, tau: tf.Tensor) -> tuple:
        def gradient(upstream: tf.Tensor) -> list[tf.Tensor]:
            # Recompute: the tensors that a loop stores for its gradient cannot leave a function compiled by XLA.
            with tf.GradientTape() as tape:
                tape.watch([keys, tau])
                again = _rounds(keys, tau, open_items, k)
            return tape.gradient(again, [keys, tau], upstream)

        return _rounds(keys, tau, open_items, k), gradient

    return run(keys, tau)


def _rounds(keys: tf.Tensor, tau: tf.Tensor, open_items: tf.Tensor, k: int, *, unroll: bool = False) -> tf.Tensor:
    """Add up k softmaxes. Unless unrolled it is a loop, so that graph size and compile time do not grow with k."""

    def lower_chosen(step: tf.Tensor, alpha: tf.Tensor, total: tf.Tensor) -> tuple:
        ratio = scaled(alpha, tau)
        weights = _softmax(ratio, open_items)
        lowered = alpha + _log_remainder(ratio, weights, open_items)
        return step + 1, _below_peak(lowered, open_items), total + weights

    alpha = _below_peak(keys, open_items)
    total = tf.zeros_like(alpha)
    if unroll:
        for step in range(k - 1):
            _, alpha, total = lower_chosen(step, alpha, total)
    else:
        # XLA needs to know the number of rounds for the gradient.
        _, alpha, total = tf.while_loop(
            lambda step, *_: step < k - 1, lower_chosen, (0, alpha, total), maximum_iterations=k - 1
        )
    return total + _softmax(scaled(alpha, tau), open_items)


def _below_peak(alpha: tf.Tensor, open_items: tf.Tensor) -> tf.Tensor:
    """Subtract the largest entry from `alpha`, with a finite result. This keeps precision, and no result changes."""
    peak = tf.reduce_max(tf.where(open_items, alpha, tf.constant(alpha.dtype.min, alpha.dtype)), axis=-1, keepdims=True)
    drop = tf.where(open_items, alpha - tf.stop_gradient(peak), tf.zeros_like(alpha))
    return tf.where(drop < _floor(drop.dtype), _floor(drop.dtype), drop)


@tf.custom_gradient
def scaled(drop: tf.Tensor, tau: tf.Tensor) -> tuple:
    """Compute `drop / tau` with a finite result and a finite gradient, in which `drop / tau^2` would overflow."""
    floor = _floor(drop.dtype)
    beyond = tf.abs(drop) > -floor * tf.minimum(tau, 1)
    value = tf.where(beyond, -floor * tf.sign(drop), tf.where(beyond, tf.zeros_like(drop), drop) / tau)

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        upstream = tf.where(beyond, tf.zeros_like(upstream), upstream)
        of_inverse_tau = tf.reduce_sum(_limited(upstream * value), axis=-1, keepdims=True)
        return _limited(upstream / tau), -_limited(of_inverse_tau / tau)

    return value, gradient


def _floor(dtype: tf.DType) -> tf.Tensor:
    """A logit so low that its weight is 0, but not so low that the sum of two would overflow."""
    return tf.constant(-np.finfo(dtype.as_numpy_dtype).max / 4, dtype)


def _limited(gradient: tf.Tensor) -> tf.Tensor:
    """Clip `gradient` (at about 1e19 in float32), so that sums and products with weights do not overflow; keep NaN."""
    limit = tf.constant(math.sqrt(np.finfo(gradient.dtype.as_numpy_dtype).max), gradient.dtype)
    return tf.where(tf.abs(gradient) > limit, tf.sign(gradient) * limit, gradient)


def _softmax(ratio: tf.Tensor, open_items: tf.Tensor) -> tf.Tensor:
    return tf.nn.softmax(tf.where(open_items, ratio, tf.constant(ratio.dtype.min, ratio.dtype)))


def _log_remainder(ratio: tf.Tensor, weights: tf.Tensor, open_items: tf.Tensor) -> tf.Tensor:
    """Compute `log(1 - weights)` for `weights = softmax(ratio)`; finite and exact even if a weight rounds to 1."""
    lowest = tf.constant(ratio.dtype.min, ratio.dtype)
    heavy = weights > MAX_PRECISE_WEIGHT
    others = tf.where(tf.logical_and(open_items, tf.logical_not(heavy)), ratio, lowest)
    others = tf.reduce_logsumexp(others, axis=-1, keepdims=True)
    every = tf.reduce_logsumexp(tf.where(open_items, ratio, lowest), axis=-1, keepdims=True)
    return tf.where(heavy, others - every, tf.math.log1p(-tf.where(heavy, tf.zeros_like(weights), weights)))


def threshold_memberships(keys: tf.Tensor, tau: tf.Tensor, open_items: tf.Tensor, k: int) -> tf.Tensor:
    """Compute soft memberships `[..., n]` in the k largest keys, each at most 1, with sum k.

    tau is `[..., 1]`, and bool `open_items` `[..., n]` marks more than k items. The memberships are
    `sigmoid((keys - t) / tau)` with the threshold t for which they sum to k, and maximize
    `sum(m * keys) + tau * entropy(m)` over all m in [0, 1] with sum k, where entropy is that of n independent coins.
    """
    dtype = keys.dtype
    lowest = tf.constant(dtype.min, dtype)
    count = tf.minimum(k + 1, tf.shape(keys)[-1])
    largest = tf.math.top_k(tf.stop_gradient(tf.where(open_items, keys, lowest)), count).values
    # Relative to the k-th largest key, the keys near the threshold keep their precision.
    kth = largest[..., k - 1 : k]
    kth = tf.where(kth > lowest, kth, tf.zeros_like(kth))
    ratio = scaled(tf.where(open_items, keys - kth, tf.zeros_like(keys)), tau)
    gap = scaled(tf.where(largest[..., -1:] > lowest, largest[..., -1:] - kth, tf.zeros_like(kth)), tau)
    fixed = tf.stop_gradient(ratio)
    threshold = _bisect(fixed, tf.stop_gradient(gap), open_items, k)
    for _ in range(2):
        threshold = _newton(fixed, threshold, open_items, k)
    # Two more steps make the threshold a function of the keys with exact first and second derivatives.
    for _ in range(2):
        threshold = _newton(ratio, threshold, open_items, k)
    return _memberships(ratio, threshold, open_items)


def _newton(ratio: tf.Tensor, threshold: tf.Tensor, open_items: tf.Tensor, k: int) -> tf.Tensor:
    """One step of Newton's method, which about squares an error below 1; no step if the derivative rounds to 0."""
    memberships = _memberships(ratio, threshold, open_items)
    excess = tf.reduce_sum(memberships, axis=-1, keepdims=True) - k
    slope = tf.reduce_sum(memberships * (1 - memberships), axis=-1, keepdims=True)
    usable = slope > 100 * np.finfo(ratio.dtype.as_numpy_dtype).eps
    return threshold + tf.where(usable, excess, tf.zeros_like(excess)) / tf.where(usable, slope, tf.ones_like(slope))


def _memberships(ratio: tf.Tensor, threshold: tf.Tensor, open_items: tf.Tensor) -> tf.Tensor:
    return tf.where(open_items, tf.sigmoid(ratio - threshold), tf.zeros_like(ratio))


def _bisect(ratio: tf.Tensor, gap: tf.Tensor, open_items: tf.Tensor, k: int) -> tf.Tensor:
    """Find the threshold `[..., 1]` within 0.1 by bisection, for the k-th key at 0 and the next at `gap`, below 0."""
    middle, half = gap / 2, tf.math.log(tf.cast(tf.shape(ratio)[-1], ratio.dtype))
    for _ in range(BISECTIONS):
        half /= 2
        total = tf.reduce_sum(_memberships(ratio, middle, open_items), axis=-1, keepdims=True)
        middle += tf.where(total > k, half, -half)
    return middle
