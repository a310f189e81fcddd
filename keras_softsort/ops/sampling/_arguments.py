"""Checked arguments of choosing k of n items, and the soft or exact choice by keys."""

from __future__ import annotations

import math
import numbers
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort.ops._core.gradients import mappable_straight_through
from keras_softsort.ops.sampling._relaxed_subset import MODERATE_TAU, relaxed_choice, relaxed_subset
from keras_softsort.ops.sampling._threshold import threshold_memberships


class Choice(NamedTuple):
    """Checked arguments, with the list axis moved to the end: tensors first, then static values."""

    logits: tf.Tensor  # [..., n], in the caller's dtype
    tau: tf.Tensor  # in the compute dtype: a scalar, or [..., 1]
    mask: tf.Tensor | None  # [..., n] bool
    k: int
    method: str
    hard: bool
    axis: int  # the list axis of the result, from 0
    is_moderate: bool  # whether tau is a Python number, and so large that no gradient overflows


METHODS = ("threshold", "successive_softmax")


def checked_choice(logits: Any, tau: Any, *, k: int, method: str, hard: bool, axis: int, mask: Any) -> Choice:
    """Check the arguments of a choice."""
    logits = arguments.list_tensor("logits", logits)
    axis = arguments.axis_of("axis", axis, logits)
    mask = arguments.list_mask(mask, logits, "logits")
    k = arguments.positive_integer("k", k)
    is_moderate = isinstance(tau, numbers.Real) and float(tau) >= MODERATE_TAU
    last = _to_the_end(logits, axis)
    tau = arguments.temperature(tau, compute_dtype(logits.dtype), last)
    return Choice(
        # With k = 1 an empty list is allowed: its softmax is empty.
        logits=last if k == 1 else arguments.at_most_list_size("k", k, last),
        tau=tau if tau.shape.rank == 0 else tau[..., tf.newaxis],
        mask=None if mask is None else _to_the_end(mask, axis),
        k=k,
        method=arguments.one_of("method", method, METHODS),
        hard=arguments.boolean("hard", hard),
        axis=axis,
        is_moderate=is_moderate,
    )


def choose(choice: Choice, noise: tf.Tensor | None) -> tf.Tensor:
    """The weights of the items by the keys `logits + noise`, with the caller's shape and dtype of the logits."""
    logits = tf.cast(choice.logits, choice.tau.dtype)
    possible = tf.not_equal(logits, -math.inf)
    keys = logits if noise is None else logits + noise
    if choice.mask is not None:
        possible = tf.logical_and(possible, choice.mask)
        keys = tf.where(possible, keys, tf.constant(-math.inf, keys.dtype))
    if choice.k == 1 and choice.is_moderate:
        soft = relaxed_choice(keys, choice.tau, is_moderate=True)
    else:
        tau = _failing(choice.tau, logits, possible)
        soft = relaxed_choice(keys, tau, is_moderate=False) if choice.k == 1 else _subset(choice, keys, tau, possible)
    if choice.k > 1 or choice.mask is not None:
        soft = tf.where(possible, soft, tf.zeros([], soft.dtype))
    soft = tf.cast(soft, choice.logits.dtype)
    if choice.hard:
        tau = _failing(choice.tau, logits, possible)
        hard = tf.where(tf.math.is_nan(tau), tau, _largest(keys, possible, choice.k))
        soft = mappable_straight_through(tf.cast(tf.where(possible, hard, tf.zeros_like(hard)), soft.dtype), soft)
    if not soft.shape.is_fully_defined():
        soft = tf.ensure_shape(soft, choice.logits.shape)
    return _from_the_end(soft, choice.axis)


def _failing(tau: tf.Tensor, logits: tf.Tensor, possible: tf.Tensor) -> tf.Tensor:
    """The temperature [..., 1], NaN for a list with a NaN or +inf, whose weights and gradients it makes NaN."""
    below_infinity = tf.logical_or(logits < math.inf, tf.logical_not(possible))  # False for NaN
    is_number = tf.reduce_all(below_infinity, axis=-1, keepdims=True)
    return tf.where(is_number, tau, tf.constant(math.nan, logits.dtype))


def _subset(choice: Choice, keys: tf.Tensor, tau: tf.Tensor, possible: tf.Tensor) -> tf.Tensor:
    """The weights of several items; any number for an item that is not possible."""
    keys = tf.where(tf.logical_and(possible, tf.math.is_finite(keys)), keys, tf.zeros_like(keys))
    count = tf.reduce_sum(tf.cast(possible, tf.int32), axis=-1, keepdims=True)
    by_threshold = choice.method == "threshold"
    # There is no threshold if all the items are chosen.
    enough = count > choice.k if by_threshold else count >= choice.k
    # With too few items, equal keys of all items keep the arithmetic finite. The result is replaced below.
    open_items = tf.logical_or(possible, tf.logical_not(enough))
    relaxation = threshold_memberships if by_threshold else relaxed_subset
    soft = relaxation(tf.where(enough, keys, tf.zeros_like(keys)), tau, open_items, choice.k)
    return tf.where(enough, soft, tf.where(tf.math.is_nan(tau), tau, tf.ones_like(tau)))


def _largest(keys: tf.Tensor, possible: tf.Tensor, k: int) -> tf.Tensor:
    """1 for the k largest keys and 0 elsewhere. Of equal keys, the first are chosen."""
    keys = tf.where(possible, tf.stop_gradient(keys), tf.constant(-math.inf, keys.dtype))
    size = tf.shape(keys)[-1] if keys.shape[-1] is None else keys.shape[-1]
    count = min(k, size) if isinstance(size, int) else tf.minimum(k, size)
    chosen = tf.math.top_k(keys, count).indices
    return tf.reduce_sum(tf.one_hot(chosen, size, dtype=keys.dtype), axis=-2)


def _to_the_end(tensor: tf.Tensor, axis: int) -> tf.Tensor:
    last = tensor.shape.rank - 1
    return tensor if axis == last else tf.transpose(tensor, [*(i for i in range(last + 1) if i != axis), axis])


def _from_the_end(tensor: tf.Tensor, axis: int) -> tf.Tensor:
    last = tensor.shape.rank - 1
    return tensor if axis == last else tf.transpose(tensor, [*range(axis), last, *range(axis, last)])
