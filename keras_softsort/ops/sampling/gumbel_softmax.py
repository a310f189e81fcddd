"""Gumbel-softmax: random soft choices of one or k items, with gradients."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort.ops._core import gumbel_noise
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.sampling._arguments import Choice, checked_choice, choose


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
    """Samples of soft choices: `softmax((logits + Gumbel noise) / tau)`, or k of them without replacement.

    With `k=1` the law is that of `tfd.RelaxedOneHotCategorical(tau, logits)`, and as tau goes to 0 a sample becomes
    the one-hot of an item drawn with the probabilities `softmax(logits)`. With more, as tau goes to 0 a sample becomes
    the k-hot of the k largest keys, `logits + Gumbel noise`: k items drawn one after another without replacement
    (Plackett-Luce). Gradients flow through each sample (reparameterized).

    For k > 1 there are two relaxations of the k-hot. `method="threshold"` gives `sigmoid((keys - t) / tau)` with the
    threshold t for which the memberships sum to k: no item is chosen more than once, at any temperature.
    `method="successive_softmax"` is the published relaxed subset: k times, `p = softmax(alpha / tau)` and
    `alpha <- alpha + log(1 - p)`, from `alpha = keys`; the sample is the sum of the k p. At a temperature that is not
    small, it chooses one item several times: with k = 5 at tau = 1, up to 2.3 times.

    Args:
      logits: floating-point, unnormalised log-probabilities along `axis`. -inf means "never".
      tau: temperature: a positive number, or a tensor or variable that is a scalar or broadcasts against the other
        axes than `axis` (a temperature per list). Logits and noise are divided by it. A tensor that is not positive
        gives NaN.
      seed: two integers. Equal seeds give equal noise: eagerly, traced, and under XLA.
      k: how many items, 1 to n.
      method: the relaxation for k > 1, `"threshold"` or `"successive_softmax"`. Exact choices are the same.
      noise_scale: factor of the noise, a number of at least 0 or a scalar tensor; 0 gives `relaxed_top_k`.
      hard: return the exact one-hot (k-hot) of the k largest keys, with the gradient of the soft sample.
      axis: the axis of the n items.
      mask: bool of the shape of `logits`, True = valid. Masked items are 0, with zero gradient, as if of weight 0;
        what they hold changes nothing.

    Returns:
      The shape and dtype of `logits` (half precision is computed in float32), lists summing to k. Equal keys have equal
      memberships. Where at most k items can be chosen, each of them is 1 (with zero gradient unless k of them are
      chosen by successive softmaxes); where none can, all are 0. A list that holds NaN or inf is NaN at its valid
      items, and changes no other list. An empty list is empty.

    Raises:
      TypeError: `logits` are not floating-point, `mask` is not bool, `k` or `axis` is not an integer, `hard` is not a
        bool.
      ValueError: `tau` <= 0, `k` < 1 or (k > 1) larger than the list, no such `axis`, `mask` of another shape,
        `seed` does not hold two integers, unknown `method`, `noise_scale` < 0.

    Gradient: exact also where p rounds to 1; finite at ties, at any tau and for wide logits (cut off where it would
    pass the square root of the largest number, 1e19 in float32).

    Cost: O(n log k) time and O(n) memory per list for the threshold, O(k n) for successive softmaxes.

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
    Y. W. Teh, "The Concrete Distribution", ICLR 2017; k successive softmaxes: S. M. Xie, S. Ermon,
    "Reparameterizable Subset Sampling via Continuous Relaxations", IJCAI 2019; threshold: B. Amos, V. Koltun,
    J. Z. Kolter, "The Limited Multi-Label Projection Layer", 2019.
    """
    choice = checked_choice(logits, tau, k=k, method=method, hard=hard, axis=axis, mask=mask)
    scale = gumbel_noise.noise_scale_tensor(noise_scale, choice.tau.dtype)
    return _sample(choice, scale, gumbel_noise.seed_tensor(seed))


@traced_if_eager
def _sample(choice: Choice, noise_scale: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    return choose(choice, noise_scale * gumbel_noise.gumbel(tf.shape(choice.logits), seed, choice.tau.dtype))
