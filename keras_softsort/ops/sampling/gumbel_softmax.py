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
    hard: bool = False,
    axis: int = -1,
    mask: Any = None,
) -> tf.Tensor:
    """Samples of soft choices: `softmax((logits + Gumbel noise) / tau)`, or k of them without replacement.

    With `k=1` the law is that of `tfd.RelaxedOneHotCategorical(tau, logits)`, and as tau goes to 0 a sample becomes
    the one-hot of an item drawn with the probabilities `softmax(logits)`. With more, of the keys
    `alpha = logits + Gumbel noise`, k times: `p = softmax(alpha / tau)`, `alpha <- alpha + log(1 - p)`. The sample is
    the sum of the k p; as tau goes to 0 it becomes the k-hot of the k largest keys, that is of k items drawn one after
    another without replacement (Plackett-Luce). Gradients flow through each sample (reparameterised).

    Args:
      logits: floating-point, unnormalised log-probabilities along `axis`. -inf means "never".
      tau: temperature, a positive number or a scalar tensor or variable; logits and noise are divided by it. A tensor
        that is not positive gives NaN. With k > 1 take it below 1: at 1 an item may be chosen over and over.
      seed: two integers. Equal seeds give equal noise: eagerly, traced, and under XLA.
      k: how many items, 1 to n.
      hard: give the exact one-hot (k-hot) of the k largest keys, with the gradient of the soft sample.
      axis: the axis of the n items.
      mask: bool of the shape of `logits`, True = keep. Masked items are 0, with zero gradient, as if of weight 0;
        what they hold changes nothing.

    Returns:
      The shape and dtype of `logits` (half precision is computed in float32), lists summing to k. With k > 1 an entry
      may exceed 1, most of all for keys closer than tau, which share their places evenly. Where fewer than k items
      can be chosen, each of them is 1, with zero gradient; where none, all is 0. A list that holds NaN or inf is NaN
      where it is kept, and changes no other. An empty list is empty.

    Raises:
      TypeError: `logits` are not floating-point, `mask` is not bool, `k` or `axis` is not an integer, `hard` no bool.
      ValueError: `tau` <= 0, `k` < 1 or (k > 1) larger than the list, no such `axis`, `mask` of another shape,
        `seed` does not hold two integers.

    Gradient: exact also where p rounds to 1; finite at ties, at any tau and for wide logits (cut off where it would
    pass the square root of the largest number, 1e19 in float32).

    Cost: O(k n) time and memory a list.

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
    Y. W. Teh, "The Concrete Distribution", ICLR 2017; k > 1: S. M. Xie, S. Ermon, "Reparameterizable Subset Sampling
    via Continuous Relaxations", IJCAI 2019.
    """
    return _sample(checked_choice(logits, tau, k=k, hard=hard, axis=axis, mask=mask), gumbel_noise.seed_tensor(seed))


@traced_if_eager
def _sample(choice: Choice, seed: tf.Tensor) -> tf.Tensor:
    return choose(choice, gumbel_noise.gumbel(tf.shape(choice.logits), seed, choice.tau.dtype))
