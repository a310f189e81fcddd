"""Soft or exact memberships in the k largest of n items."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.sampling._arguments import Choice, checked_choice, choose


@export
def relaxed_top_k(
    logits: Any,
    k: int,
    tau: Any = 1.0,
    *,
    method: str = "threshold",
    hard: bool = False,
    axis: int = -1,
    mask: Any = None,
) -> tf.Tensor:
    """Compute the soft memberships of items in the k largest: `gumbel_softmax` without noise.

    Args:
      logits: floating-point, the keys along `axis`. An item with -inf is never chosen.
      k: number of items to choose, from 1 to n.
      tau: temperature, in units of the logits. A positive number, or a tensor or variable that is a scalar or
        broadcasts against the axes other than `axis` (a temperature per list).
      method: the relaxation for k > 1, `"threshold"` or `"successive_softmax"`, see `gumbel_softmax`.
      hard: whether to return the exact k-hot vector of the k largest, with the gradient of the soft memberships. Of
        equal logits, the first are chosen.
      axis: the axis of the n items.
      mask: bool of the shape of `logits`, True for valid items. Masked items get 0 and zero gradient.

    Returns:
      Tensor of the shape and dtype of `logits`; each list sums to k. Ties, NaN and lists with too few items are
      treated as in `gumbel_softmax`.

    Raises:
      TypeError, ValueError: as for `gumbel_softmax`.

    Cost: O(n log k) time and O(n) memory per list for the threshold; O(k n) for successive softmaxes.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> tf.round(100 * ks.ops.relaxed_top_k([2.0, 2.0, 2.0, 1.0], k=2, tau=0.1)).numpy().tolist()
    [67.0, 67.0, 67.0, 0.0]

    Source: as for `gumbel_softmax`.
    """
    return _relaxed_top_k(checked_choice(logits, tau, k=k, method=method, hard=hard, axis=axis, mask=mask))


@traced_if_eager
def _relaxed_top_k(choice: Choice) -> tf.Tensor:
    return choose(choice, None)
