"""Soft memberships in the k largest of n keys by a threshold: each at most 1, with sum k.

The memberships are `sigmoid((keys - t) / tau)`, with the threshold t for which they sum to k. They maximize
`sum(m * keys) + tau * entropy(m)` over all m in [0, 1] with sum k, where entropy is that of n independent coins.
"""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

from keras_softsort.ops.sampling._relaxed_subset import scaled


def threshold_memberships(keys: tf.Tensor, tau: tf.Tensor, open_items: tf.Tensor, k: int) -> tf.Tensor:
    """The memberships `[..., n]`. tau is `[..., 1]`, and bool `open_items` `[..., n]` marks more than k items."""
    dtype = keys.dtype
    lowest = tf.constant(-math.inf, dtype)
    count = tf.minimum(k + 1, tf.shape(keys)[-1])
    largest = tf.math.top_k(tf.stop_gradient(tf.where(open_items, keys, lowest)), count).values
    # Relative to the k-th largest key, the keys near the threshold keep their precision.
    kth = largest[..., k - 1 : k]
    kth = tf.where(tf.math.is_inf(kth), tf.zeros_like(kth), kth)
    ratio = scaled(tf.where(open_items, keys - kth, tf.zeros_like(keys)), tau)
    gap = scaled(tf.where(tf.math.is_inf(largest[..., -1:]), tf.zeros_like(kth), largest[..., -1:] - kth), tau)
    threshold = _bisect(tf.stop_gradient(ratio), tf.stop_gradient(gap), open_items, k)
    # Two steps of Newton's method make the threshold a function of the keys with exact first and second derivatives.
    # If all memberships round to 0 or 1, their derivative is 0.
    least = tf.constant(100 * np.finfo(dtype.as_numpy_dtype).eps, dtype)
    for _ in range(2):
        memberships = _memberships(ratio, threshold, open_items)
        excess = tf.reduce_sum(memberships, axis=-1, keepdims=True) - k
        slope = tf.reduce_sum(memberships * (1 - memberships), axis=-1, keepdims=True)
        usable = slope > least
        step = tf.where(usable, excess, tf.zeros_like(excess)) / tf.where(usable, slope, tf.ones_like(slope))
        threshold += step
    return _memberships(ratio, threshold, open_items)


def _memberships(ratio: tf.Tensor, threshold: tf.Tensor, open_items: tf.Tensor) -> tf.Tensor:
    return tf.where(open_items, tf.sigmoid(ratio - threshold), tf.zeros_like(ratio))


def _bisect(ratio: tf.Tensor, gap: tf.Tensor, open_items: tf.Tensor, k: int) -> tf.Tensor:
    """Find the threshold `[..., 1]` by bisection, around the k-th key (at 0) and the next one (at `gap`, below 0)."""
    margin = tf.math.log(tf.cast(tf.shape(ratio)[-1], ratio.dtype) + 1)
    halvings = 40 if ratio.dtype == tf.float32 else 80

    def halve(step: tf.Tensor, low: tf.Tensor, high: tf.Tensor) -> tuple:
        middle = low + (high - low) / 2
        total = tf.reduce_sum(_memberships(ratio, middle, open_items), axis=-1, keepdims=True)
        above = total > k
        return step + 1, tf.where(above, middle, low), tf.where(above, high, middle)

    start = (0, gap - margin, tf.zeros_like(gap) + margin)
    _, _, high = tf.while_loop(lambda step, *_: step < halvings, halve, start, maximum_iterations=halvings)
    return tf.stop_gradient(high)
