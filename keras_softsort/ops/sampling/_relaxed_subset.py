"""The relaxed subset of Xie and Ermon: k successive softmaxes, in a numerically stable form."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

from keras_softsort.ops._core.tracing import is_compiled

# For a larger weight p, log(1 - p) is computed from the weights of the other items, since 1 - p loses precision. At
# most one item can have a weight above 0.5, and the margin keeps that true when p is rounded.
HEAVY = 0.75
# From this temperature on the gradient of a softmax cannot overflow.
MODERATE_TAU = 1e-3
# Up to this many numbers TensorFlow's softmax takes longer to start than its logarithm.
SMALL = 2**14
# Up to this many rounds are unrolled. TensorFlow then differentiates them, also to second order.
UNROLLED = 8


def relaxed_choice(keys: tf.Tensor, tau: tf.Tensor, is_moderate: bool) -> tf.Tensor:
    """The softmax of `keys / tau`: `[..., n]`. Keys of -inf get 0, even if all are.

    `is_moderate` says that tau has no gradient and is at least `MODERATE_TAU`.
    """
    peak = tf.stop_gradient(tf.reduce_max(keys, axis=-1, keepdims=True))
    if not is_moderate:
        # Not -inf, from which -inf cannot be subtracted.
        ratio = scaled(keys - tf.maximum(peak, keys.dtype.min), tf.broadcast_to(tau, tf.shape(peak)))
    elif tf.get_static_value(tau) == 1:
        ratio = keys
    else:
        ratio = (keys - peak) / tau
    # NaN for a list with +inf: TensorFlow's softmaxes do not agree on what it makes of the other items.
    some = tf.where(peak < math.inf, tf.cast(tf.not_equal(peak, -math.inf), keys.dtype), math.nan)
    return _softmax_or_zero(ratio, some)


@tf.custom_gradient
def _softmax_or_zero(ratio: tf.Tensor, some: tf.Tensor) -> tuple:
    """The softmax over the last axis, times `some` `[..., 1]`: 1, 0 or NaN. What has a weight of 0 gets no gradient."""
    if is_compiled() or (ratio.shape.num_elements() or SMALL + 1) > SMALL:
        soft = tf.nn.softmax(ratio)
    else:
        soft = tf.exp(tf.nn.log_softmax(ratio))
    soft = tf.math.multiply_no_nan(soft, some)

    def gradient(upstream: tf.Tensor) -> tuple:
        mean = tf.reduce_sum(tf.math.multiply_no_nan(upstream, soft), axis=-1, keepdims=True)
        return tf.math.multiply_no_nan(upstream - mean, soft), None

    return soft, gradient


def relaxed_subset(keys: tf.Tensor, tau: tf.Tensor, open_items: tf.Tensor, k: int) -> tf.Tensor:
    """The sum of k softmaxes, with `alpha <- alpha + log(1 - softmax(alpha / tau))` between them: `[..., n]`.

    tau is `[..., 1]`. `open_items`, bool `[..., n]`, marks the items that can be chosen, at least k > 1 in each list.
    """
    if k <= UNROLLED:
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
    """The sum of k softmaxes. Unless unrolled it is a loop, so that graph size and compile time do not grow with k."""

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
    peak = tf.reduce_max(tf.where(open_items, alpha, tf.constant(-math.inf, alpha.dtype)), axis=-1, keepdims=True)
    drop = tf.where(open_items, alpha - tf.stop_gradient(peak), tf.zeros_like(alpha))
    return tf.where(drop < _floor(drop.dtype), _floor(drop.dtype), drop)


@tf.custom_gradient
def scaled(drop: tf.Tensor, tau: tf.Tensor) -> tuple:
    """Compute `drop / tau` with a finite result and a finite gradient.

    The automatic gradient of the quotient contains `drop / tau^2`, which overflows. At ties the gradients of k
    softmaxes grow as tau^-k.
    """
    ratio = drop / tau
    floor = _floor(drop.dtype)
    beyond = tf.abs(ratio) > -floor
    value = tf.where(beyond, -floor * tf.sign(drop), ratio)

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
    return tf.nn.softmax(tf.where(open_items, ratio, tf.constant(-math.inf, ratio.dtype)))


def _log_remainder(ratio: tf.Tensor, weights: tf.Tensor, open_items: tf.Tensor) -> tf.Tensor:
    """Compute `log(1 - weights)` for `weights = softmax(ratio)`; finite and exact even if a weight rounds to 1."""
    never = tf.constant(-math.inf, ratio.dtype)
    heavy = weights > HEAVY
    others = tf.where(tf.logical_and(open_items, tf.logical_not(heavy)), ratio, never)
    others = tf.reduce_logsumexp(others, axis=-1, keepdims=True)
    every = tf.reduce_logsumexp(tf.where(open_items, ratio, never), axis=-1, keepdims=True)
    return tf.where(heavy, others - every, tf.math.log1p(-tf.where(heavy, tf.zeros_like(weights), weights)))
