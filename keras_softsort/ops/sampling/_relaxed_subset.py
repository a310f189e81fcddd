"""The relaxed subset of Xie and Ermon: k softmaxes, each over what the ones before have left; stably."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

# Above this share, log(1 - p) is taken from the others' weights, since p no longer holds what is left of it. Above a
# half at most one item is so heavy; the distance to a half keeps that true however p was rounded.
HEAVY = 0.75
# Up to so many rounds there is no loop, and TensorFlow's own gradients serve, those of second order too.
UNROLLED = 8


def relaxed_subset(keys: tf.Tensor, tau: tf.Tensor, open_items: tf.Tensor, k: int) -> tf.Tensor:
    """The sum of k softmaxes, `alpha <- alpha + log(1 - softmax(alpha / tau))` between them, `[..., n]`.

    tau is `[..., 1]`; items that are not open (bool `[..., n]`) have no part. At least k are open in each list.
    """
    if k == 1:
        return _softmax(scaled(_below_peak(keys, open_items), tau), open_items)

    if k <= UNROLLED:
        return _rounds(keys, tau, open_items, k, unroll=True)

    @tf.custom_gradient
    def run(keys: tf.Tensor, tau: tf.Tensor) -> tuple:
        def gradient(upstream: tf.Tensor) -> list[tf.Tensor]:
            # Made anew: what a loop keeps for its gradient cannot leave a function that XLA compiled.
            with tf.GradientTape() as tape:
                tape.watch([keys, tau])
                again = _rounds(keys, tau, open_items, k)
            return tape.gradient(again, [keys, tau], upstream)

        return _rounds(keys, tau, open_items, k), gradient

    return run(keys, tau)


def _rounds(keys: tf.Tensor, tau: tf.Tensor, open_items: tf.Tensor, k: int, *, unroll: bool = False) -> tf.Tensor:
    """The k softmaxes; in a loop unless unrolled, so that neither the graph nor the time to compile it grows with k."""

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
    """`alpha` less its largest entry, finite; nothing here depends on a shift, and differences keep their digits."""
    peak = tf.reduce_max(tf.where(open_items, alpha, tf.constant(-math.inf, alpha.dtype)), axis=-1, keepdims=True)
    drop = tf.where(open_items, alpha - tf.stop_gradient(peak), tf.zeros_like(alpha))
    return tf.where(drop < _floor(drop.dtype), _floor(drop.dtype), drop)


@tf.custom_gradient
def scaled(drop: tf.Tensor, tau: tf.Tensor) -> tuple:
    """`drop / tau`, finite, with a finite gradient.

    The quotient's own would form `drop / tau^2`, which overflows into inf * 0; and at ties the gradients of k softmaxes
    grow as tau^-k.
    """
    ratio = drop / tau
    floor = _floor(drop.dtype)
    beyond = tf.logical_or(ratio < floor, ratio > -floor)
    value = tf.where(beyond, -floor * tf.sign(drop), ratio)

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        upstream = tf.where(beyond, tf.zeros_like(upstream), upstream)
        of_inverse_tau = tf.reduce_sum(_limited(upstream * value), axis=-1, keepdims=True)
        return _limited(upstream / tau), -_limited(of_inverse_tau / tau)

    return value, gradient


def _floor(dtype: tf.DType) -> tf.Tensor:
    """So low that no weight is left there, and that the sum of two such is still finite."""
    return tf.constant(-np.finfo(dtype.as_numpy_dtype).max / 4, dtype)


def _limited(gradient: tf.Tensor) -> tf.Tensor:
    """`gradient` up to some 1e19 in float32, whose sums and products with weights do not overflow; NaN stays."""
    limit = tf.constant(math.sqrt(np.finfo(gradient.dtype.as_numpy_dtype).max), gradient.dtype)
    return tf.where(tf.abs(gradient) > limit, tf.sign(gradient) * limit, gradient)


def _softmax(ratio: tf.Tensor, open_items: tf.Tensor) -> tf.Tensor:
    return tf.nn.softmax(tf.where(open_items, ratio, tf.constant(-math.inf, ratio.dtype)))


def _log_remainder(ratio: tf.Tensor, weights: tf.Tensor, open_items: tf.Tensor) -> tf.Tensor:
    """`log(1 - weights)` for weights that are `softmax(ratio)`: finite and exact also where a weight rounds to 1."""
    never = tf.constant(-math.inf, ratio.dtype)
    heavy = weights > HEAVY
    others = tf.where(tf.logical_and(open_items, tf.logical_not(heavy)), ratio, never)
    others = tf.reduce_logsumexp(others, axis=-1, keepdims=True)
    every = tf.reduce_logsumexp(tf.where(open_items, ratio, never), axis=-1, keepdims=True)
    return tf.where(heavy, others - every, tf.math.log1p(-tf.where(heavy, tf.zeros_like(weights), weights)))
