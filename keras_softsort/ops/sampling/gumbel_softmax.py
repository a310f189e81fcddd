"""Differentiable choices of one or k items, with Gumbel noise and without."""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort._internal.not_a_number import at_least_or_nan, or_nan
from keras_softsort.ops.core import gumbel_noise
from keras_softsort.ops.core.axes import moved_axis, with_static_shape
from keras_softsort.ops.core.numbers import straight_through
from keras_softsort.ops.core.order import masked_last, valid_counts
from keras_softsort.ops.core.temperature import is_nan_or_infinity
from keras_softsort.ops.core.tracing import traced_if_eager
from keras_softsort.ops.sampling._relaxations import relaxed_choice, relaxed_subset, threshold_memberships

METHODS = ("threshold", "successive_softmax")


@export(top_level=True)
def gumbel_softmax(
    logits: Any,
    tau: Any = 1.0,
    *,
    seed: Any = None,
    k: int = 1,
    method: str = "threshold",
    noise_scale: Any = 1.0,
    hard: bool = False,
    axis: int = -1,
    mask: Any = None,
) -> tf.Tensor:
    """Draw soft one-hot samples, `softmax((logits + Gumbel noise) / tau)`, or soft k-hot samples of k items.

    Use it to choose k of n items at random, with a gradient. With `k=1` a sample has the distribution of
    `tfd.RelaxedOneHotCategorical(tau, logits)`. As tau goes to 0, a sample becomes the k-hot vector of the k largest
    keys, which are `logits + Gumbel noise`: k items drawn one after another without replacement, with probabilities
    proportional to exp(logits) (Plackett-Luce). Gradients flow through each sample (reparameterized). For k > 1 there
    are two relaxations of the k-hot vector:

    - `method="threshold"`: `sigmoid((keys - t) / tau)`, with the threshold t for which they sum to k. None exceeds 1.
    - `method="successive_softmax"`: the published relaxed subset. It starts from `alpha = keys`, computes
      `p = softmax(alpha / tau)` and `alpha <- alpha + log(1 - p)` k times, and adds up the k vectors p. Unless tau is
      small, it chooses one item several times: up to 2.3 times for k = 5 at tau = 1.

    Args:
      logits: floating-point, unnormalized log-probabilities along `axis`. An item with -inf is never chosen.
      tau: temperature in units of the logits, positive: a number, or a tensor that broadcasts against the axes other
        than `axis`. A tensor that is not positive gives NaN.
      seed: two integers, the stateless seed of the noise. May be left out with `noise_scale=0`.
      k: number of items to choose, from 1 to n.
      method: the relaxation for k > 1, `"threshold"` or `"successive_softmax"`. Exact choices do not depend on it.
      noise_scale: factor of the noise, a number of at least 0 or a scalar tensor. With 0 the result is a soft top k of
        the logits; `soft_top_k_membership` has other relaxations of it.
      hard: whether to return the exact k-hot vector of the k largest keys, with the gradient of the soft sample.
      axis: the axis of the n items.
      mask: bool of the shape of `logits`, True for valid items. Masked items get 0 and zero gradient.

    Returns:
      The shape and dtype of `logits`; each list sums to k. Equal keys have equal memberships. If at most k items can be
      chosen, each of them gets 1, with zero gradient (except for exactly k items and successive softmaxes). A list with
      a valid NaN or +inf is NaN at its valid items. An empty list gives an empty result. Gradients are finite at ties
      and at any tau: they are clipped at 1e19 in float32. Half precision is computed in float32.

    Raises:
      TypeError: `logits` is not floating-point, `mask` is not bool, or noise has no `seed`.
      ValueError: a number is out of range, `method` is unknown, or shapes do not match.

    Cost: O(n log k) time and O(n) memory per list for the threshold; O(k n) for successive softmaxes.

    Example:
      >>> without_noise = ks.ops.gumbel_softmax([2.0, 2.0, 2.0, 1.0], tau=0.1, k=2, noise_scale=0)
      >>> (100 * without_noise.numpy()).round().tolist()
      [67.0, 67.0, 67.0, 0.0]

    Source: E. Jang et al., "Categorical Reparameterization with Gumbel-Softmax", and C. Maddison et al., "The Concrete
    Distribution", both ICLR 2017; S. M. Xie, S. Ermon, "Reparameterizable Subset Sampling via Continuous Relaxations",
    IJCAI 2019 (successive softmaxes); B. Amos et al., "The Limited Multi-Label Projection Layer", 2019 (threshold).
    """
    choice = _checked(logits, tau, k=k, method=method, hard=hard, axis=axis, mask=mask)
    scale = gumbel_noise.noise_scale_tensor(noise_scale, compute_dtype(choice.logits.dtype))
    if seed is not None:
        return _choose(choice, scale, gumbel_noise.seed_tensor(seed))
    if tf.is_tensor(noise_scale) or noise_scale != 0:
        raise TypeError(
            f"seed must hold two integers unless noise_scale is 0, got None with noise_scale={noise_scale!r}"
        )
    return _choose(choice)


class Choice(NamedTuple):
    """Checked arguments, with the list axis moved to the end: tensors first, then static values."""

    logits: tf.Tensor  # [..., n], in the caller's dtype
    tau: tf.Tensor | None  # in the compute dtype: a scalar, or [..., 1]; None for one item and the number 1
    mask: tf.Tensor | None  # [..., n] bool
    k: int
    method: str
    hard: bool
    axis: int  # the list axis of the result, from 0


def _checked(logits: Any, tau: Any, *, k: int, method: str, hard: bool, axis: int, mask: Any) -> Choice:
    logits = arguments.list_tensor("logits", logits)
    axis = arguments.axis_of("axis", axis, logits.shape)
    mask = arguments.list_mask(mask, logits, "logits")
    k = arguments.positive_integer("k", k)
    end = logits.shape.rank - 1
    last = moved_axis(logits, axis, end)
    is_plain = k == 1 and isinstance(tau, numbers.Real) and tau == 1
    tau = arguments.temperature(tau, compute_dtype(logits.dtype), last)
    tau = tau if tau.shape.rank == 0 else tau[..., tf.newaxis]
    return Choice(
        # With k = 1 an empty list is allowed: its softmax is empty.
        logits=last if k == 1 else arguments.at_most_list_size("k", k, last),
        tau=None if is_plain else tau,
        mask=None if mask is None else moved_axis(mask, axis, end),
        k=k,
        method=arguments.one_of("method", method, METHODS),
        hard=arguments.boolean("hard", hard),
        axis=axis,
    )


@traced_if_eager
def _choose(choice: Choice, noise_scale: tf.Tensor | None = None, seed: tf.Tensor | None = None) -> tf.Tensor:
    """Compute the weights of the items, with the caller's shape and dtype. The keys have noise if there is a seed."""
    logits, tau = tf.cast(choice.logits, compute_dtype(choice.logits.dtype)), choice.tau
    is_allowed = at_least_or_nan(logits, logits.dtype.min)
    keys = logits
    if seed is not None:
        keys += noise_scale * gumbel_noise.gumbel(tf.shape(logits), seed, logits.dtype)
    if choice.mask is not None:
        is_allowed = tf.logical_and(is_allowed, choice.mask)
        keys = tf.where(is_allowed, keys, tf.constant(keys.dtype.min, keys.dtype))
    if choice.k == 1:
        soft = relaxed_choice(keys, tau)
    else:
        # NaN for a list with a NaN or +inf, whose results then are NaN.
        failed = tf.reduce_any(is_nan_or_infinity(logits) & is_allowed, axis=-1, keepdims=True)
        soft = _subset(choice, keys, or_nan(tau, failed), is_allowed)
    if choice.k > 1 or choice.mask is not None:
        soft = tf.where(is_allowed, soft, tf.zeros([], soft.dtype))
    soft = tf.cast(soft, choice.logits.dtype)
    if choice.hard:
        hard = tf.where(is_allowed, _largest(keys, is_allowed, choice.k), tf.zeros([], keys.dtype))
        soft = straight_through(tf.cast(hard, soft.dtype), soft)
    if not soft.shape.is_fully_defined():
        soft = with_static_shape(soft, choice.logits.shape)
    return moved_axis(soft, soft.shape.rank - 1, choice.axis)


def _subset(choice: Choice, keys: tf.Tensor, tau: tf.Tensor, is_allowed: tf.Tensor) -> tf.Tensor:
    """Compute the weights of k > 1 items; any number for an item that is not allowed."""
    keys = tf.where(tf.logical_and(is_allowed, tf.math.is_finite(keys)), keys, tf.zeros_like(keys))
    count = valid_counts(is_allowed, keepdims=True)
    by_threshold = choice.method == "threshold"
    # There is no threshold if all the items are chosen.
    enough = count > choice.k if by_threshold else count >= choice.k
    # With too few items, equal keys of all items keep the arithmetic finite. The result is replaced below.
    open_items = tf.logical_or(is_allowed, tf.logical_not(enough))
    relaxation = threshold_memberships if by_threshold else relaxed_subset
    soft = relaxation(tf.where(enough, keys, tf.zeros_like(keys)), tau, open_items, choice.k)
    return tf.where(enough, soft, tf.where(tf.math.is_nan(tau), tau, tf.ones_like(tau)))


def _largest(keys: tf.Tensor, is_allowed: tf.Tensor, k: int) -> tf.Tensor:
    """Mark the k largest keys with 1 and the others with 0. Of equal keys, the first are chosen."""
    keys = masked_last(tf.stop_gradient(keys), is_allowed)
    size = tf.shape(keys)[-1] if keys.shape[-1] is None else keys.shape[-1]
    chosen = tf.math.top_k(keys, tf.minimum(k, size)).indices
    return tf.reduce_sum(tf.one_hot(chosen, size, dtype=keys.dtype), axis=-2)
