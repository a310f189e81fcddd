"""Choosing k of n items by their keys: softly, by the relaxed subset of Xie and Ermon, or exactly."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_softsort.ops import _checks
from keras_softsort.ops._compile import compiled_when_eager
from keras_softsort.ops._problem import compute_dtype
from keras_softsort.ops._straight_through import straight_through

# Above this share, log(1 - p) is taken from the others' weights, since p no longer holds what is left of it. Above a
# half at most one item is so heavy; the distance to a half keeps that true however p was rounded.
HEAVY = 0.75


class Choice(NamedTuple):
    """Checked arguments, the list axis moved to the end; tensors first, then what is fixed when traced."""

    logits: tf.Tensor  # [..., n], in the dtype given
    tau: tf.Tensor  # scalar of the compute dtype
    mask: tf.Tensor | None  # [..., n] bool
    k: int
    hard: bool
    axis: int  # of the result, from 0


def checked_choice(logits: Any, tau: Any, *, k: int, hard: bool, axis: int, mask: Any) -> Choice:
    """Check the arguments and put them together."""
    logits = _checks.list_tensor("logits", logits)
    axis = _checks.axis_of("axis", axis, logits)
    mask = _checks.list_mask(mask, logits, "logits")
    k = _checks.positive_integer("k", k)
    last = _to_the_end(logits, axis)
    return Choice(
        # An empty list has no first item, but its softmax is as empty as it is.
        logits=last if k == 1 else _checks.at_most_list_size("k", k, last),
        tau=_checks.temperature(tau, compute_dtype(logits.dtype)),
        mask=None if mask is None else _to_the_end(mask, axis),
        k=k,
        hard=_checks.boolean("hard", hard),
        axis=axis,
    )


def choose(choice: Choice, noise: tf.Tensor | None) -> tf.Tensor:
    """The weights of the items by the keys `logits + noise`, of the shape and dtype of the logits as given."""
    logits = tf.cast(choice.logits, choice.tau.dtype)
    possible = tf.not_equal(logits, -math.inf)
    if choice.mask is not None:
        possible = tf.logical_and(possible, choice.mask)
    finite = tf.math.is_finite(logits)
    is_number = tf.reduce_all(tf.logical_or(finite, tf.logical_not(possible)), axis=-1, keepdims=True)
    # A NaN temperature carries "this list is not a number" to its weights and gradients, and to no other list.
    tau = tf.where(is_number, choice.tau, tf.constant(math.nan, logits.dtype))
    keys = tf.where(tf.logical_and(possible, finite), logits, tf.zeros_like(logits))
    keys = keys if noise is None else keys + noise

    count = tf.reduce_sum(tf.cast(possible, tf.int32), axis=-1, keepdims=True)
    enough = count >= choice.k
    # With too few items, equal weights of all keep the arithmetic finite until they are replaced.
    open_items = tf.logical_or(possible, tf.logical_not(enough))
    soft = _relaxed(tf.where(enough, keys, tf.zeros_like(keys)), tau, open_items, choice.k)
    soft = tf.where(enough, soft, tf.where(tf.math.is_nan(tau), tau, tf.ones_like(tau)))
    soft = tf.cast(tf.where(possible, soft, tf.zeros_like(soft)), choice.logits.dtype)
    if choice.hard:
        hard = tf.where(tf.math.is_nan(tau), tau, _largest(keys, possible, choice.k))
        soft = straight_through(tf.cast(tf.where(possible, hard, tf.zeros_like(hard)), soft.dtype), soft)
    return _from_the_end(tf.ensure_shape(soft, choice.logits.shape), choice.axis)


@compiled_when_eager
def choose_without_noise(choice: Choice) -> tf.Tensor:
    """What is chosen by the logits themselves."""
    return choose(choice, None)


def _relaxed(keys: tf.Tensor, tau: tf.Tensor, open_items: tf.Tensor, k: int) -> tf.Tensor:
    """The sum of k softmaxes, `alpha <- alpha + log(1 - softmax(alpha / tau))` between them; tau is [..., 1]."""

    def lower_chosen(alpha: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        ratio = _scaled(alpha, tau)
        weights = _softmax(ratio, open_items)
        lowered = alpha + _log_remainder(ratio, weights, open_items)
        return _below_peak(lowered, open_items), total + weights

    alpha = _below_peak(keys, open_items)
    total = tf.zeros_like(alpha)
    if k > 1:
        # A loop, so that the graph does not grow with k; its gradient under XLA needs the number of rounds.
        _, alpha, total = tf.while_loop(
            lambda step, alpha, total: step < k - 1,
            lambda step, alpha, total: (step + 1, *lower_chosen(alpha, total)),
            (0, alpha, total),
            maximum_iterations=k - 1,
        )
    return total + _softmax(_scaled(alpha, tau), open_items)


def _below_peak(alpha: tf.Tensor, open_items: tf.Tensor) -> tf.Tensor:
    """`alpha` less its largest entry, finite; nothing here depends on a shift, and differences keep their digits."""
    peak = tf.reduce_max(tf.where(open_items, alpha, tf.constant(-math.inf, alpha.dtype)), axis=-1, keepdims=True)
    drop = tf.where(open_items, alpha - tf.stop_gradient(peak), tf.zeros_like(alpha))
    return tf.where(drop < _floor(drop.dtype), _floor(drop.dtype), drop)


@tf.custom_gradient
def _scaled(drop: tf.Tensor, tau: tf.Tensor) -> tuple:
    """`drop / tau`, finite. The quotient's own gradient would form `drop / tau^2`, which overflows into inf * 0."""
    ratio = drop / tau
    beyond = ratio < _floor(drop.dtype)
    value = tf.where(beyond, _floor(drop.dtype), ratio)

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        upstream = tf.where(beyond, tf.zeros_like(upstream), upstream)
        return upstream / tau, -tf.reduce_sum(upstream * value, axis=-1, keepdims=True) / tau

    return value, gradient


def _floor(dtype: tf.DType) -> tf.Tensor:
    """So low that no weight is left there, and that the sum of two such is still finite."""
    return tf.constant(-np.finfo(dtype.as_numpy_dtype).max / 4, dtype)


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


def _largest(keys: tf.Tensor, possible: tf.Tensor, k: int) -> tf.Tensor:
    """1 at the k largest keys, the first of equals, and 0 elsewhere."""
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
