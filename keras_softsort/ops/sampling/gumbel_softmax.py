"""Gumbel-softmax: differentiable random choices of one or k items."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops._core import gumbel_noise
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.sampling._arguments import Choice, checked_choice, choose


@export(top_level=True)
def gumbel_softmax(
    logits: Any,
    tau: Any = 1.0,
    *,
    seed: Any,
    k: int = 1,
    method: str = "threshold",
    noise_scale: Any = 1.0,
    hard: bool = False,
    axis: int = -1,
    mask: Any = None,
) -> tf.Tensor:
    """Draw soft one-hot samples, `softmax((logits + Gumbel noise) / tau)`, or soft k-hot samples of k items.

    With `k=1` a sample has the distribution of `tfd.RelaxedOneHotCategorical(tau, logits)`. As tau goes to 0, it
    becomes the one-hot vector of an item drawn with the probabilities `softmax(logits)`. With k > 1 and as tau goes to
    0, it becomes the k-hot vector of the k largest keys, which are `logits + Gumbel noise`. These are k items drawn
    one after another without replacement (Plackett-Luce). Gradients flow through each sample (reparameterized).

    For k > 1 there are two relaxations of the k-hot vector:

    - `method="threshold"`: `sigmoid((keys - t) / tau)`, with the threshold t for which the memberships sum to k. No
      item is chosen more than once, at any temperature.
    - `method="successive_softmax"`: the published relaxed subset. It starts from `alpha = keys`, computes
      `p = softmax(alpha / tau)` and `alpha <- alpha + log(1 - p)` k times, and adds up the k vectors p. Unless tau is
      small, it chooses one item several times: up to 2.3 times for k = 5 at tau = 1.

    Args:
      logits: floating-point, unnormalized log-probabilities along `axis`. An item with -inf is never chosen.
      tau: temperature, in units of the logits. A positive number, or a tensor or variable that is a scalar or
        broadcasts against the axes other than `axis` (a temperature per list). A tensor that is not positive gives NaN.
      seed: two integers. Equal seeds give equal noise: eagerly, traced, and under XLA.
      k: number of items to choose, from 1 to n.
      method: the relaxation for k > 1, `"threshold"` or `"successive_softmax"`. Exact choices do not depend on it.
      noise_scale: factor of the noise, a number of at least 0 or a scalar tensor. 0 gives `relaxed_top_k`.
      hard: whether to return the exact k-hot vector of the k largest keys, with the gradient of the soft sample.
      axis: the axis of the n items.
      mask: bool of the shape of `logits`, True for valid items. Masked items get 0 and zero gradient. Their logits
        change nothing.

    Returns:
      Tensor of the shape and dtype of `logits`; each list sums to k. Half precision is computed in float32. Equal keys
      have equal memberships. If at most k items can be chosen, each of them gets 1, with zero gradient (except for
      exactly k items and successive softmaxes). If none can be chosen, all get 0. A list with a valid NaN or +inf is
      NaN at its valid items, and changes no other list. An empty list gives an empty result.

    Raises:
      TypeError: `logits` is not floating-point, `mask` is not bool, `k` or `axis` is not an integer, or `hard` is not
        a bool.
      ValueError: `tau` is not positive, `k` is below 1 or (if above 1) greater than the list size, `axis` is out of
        range, `mask` has another shape, `seed` does not hold two integers, `method` is unknown, or `noise_scale` is
        below 0.

    Gradients are exact even if p rounds to 1. They are finite at ties, at any tau and for logits of any range: they are
    clipped at the square root of the largest number, which is 1e19 in float32.

    Cost: O(n log k) time and O(n) memory per list for the threshold; O(k n) for successive softmaxes.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> logits = tf.math.log([0.7, 0.2, 0.1])
    >>> sample = ks.ops.gumbel_softmax(tf.repeat(logits[None], 1000, axis=0), seed=[1, 2], hard=True)
    >>> bool(abs(tf.reduce_mean(sample, axis=0)[0] - 0.7) < 0.05)
    True
    >>> two = ks.ops.gumbel_softmax(logits, tau=0.1, seed=[1, 2], k=2)
    >>> round(float(tf.reduce_sum(two)), 3)
    2.0

    Source: E. Jang, S. Gu, B. Poole, "Categorical Reparameterization with Gumbel-Softmax", and C. Maddison, A. Mnih,
    Y. W. Teh, "The Concrete Distribution", both ICLR 2017; for successive softmaxes S. M. Xie, S. Ermon,
    "Reparameterizable Subset Sampling via Continuous Relaxations", IJCAI 2019; for the threshold B. Amos, V. Koltun,
    J. Z. Kolter, "The Limited Multi-Label Projection Layer", 2019.
    """
    choice = checked_choice(logits, tau, k=k, method=method, hard=hard, axis=axis, mask=mask)
    scale = gumbel_noise.noise_scale_tensor(noise_scale, choice.tau.dtype)
    return _sample(choice, scale, gumbel_noise.seed_tensor(seed))


@traced_if_eager
def _sample(choice: Choice, noise_scale: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    noise = gumbel_noise.gumbel(tf.shape(choice.logits), seed, choice.tau.dtype)
    return choose(choice, noise if tf.get_static_value(noise_scale) == 1 else noise_scale * noise)
