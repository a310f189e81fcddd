"""Exact permutations from soft ones, with the soft one's gradient."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._internal.not_a_number import or_nan
from keras_softsort.ops.core.axes import flatten_lists
from keras_softsort.ops.core.numbers import straight_through
from keras_softsort.ops.core.tracing import traced_if_eager


@export
def harden(permutation: Any, *, mask: Any = None) -> tf.Tensor:
    """Turn a soft permutation into an exact one, with the straight-through gradient: dL/d(soft) = dL/d(hard).

    Use it for matrices from elsewhere: `neural_sort(..., hard=True)` knows the scores, so it only needs a sort. One
    rank after another takes the largest weight of the items that are left; of equal weights, the first.

    Args:
      permutation: `[..., r, n]` with r <= n, the weights of n items at the first r ranks. Weights of -inf are equal and
        smaller than all others.
      mask: bool `[..., n]`, True for valid items. Masked items take the last ranks, and get no gradient.

    Returns:
      The same shape and dtype, with entries 0 and 1. A matrix with NaN at a valid item gives NaN.

    Raises:
      TypeError: `permutation` is not floating-point, or `mask` is not bool.
      ValueError: `permutation` has fewer than two axes or more ranks than items, or `mask` has another shape.

    Cost: r sequential steps of O(n).

    Example:
      >>> ks.ops.harden([[0.4, 0.4, 0.2], [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]).numpy().tolist()
      [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]

    Source: Y. Bengio et al., "Estimating or Propagating Gradients Through Stochastic Neurons", 2013.
    """
    permutation = arguments.floating_tensor("permutation", permutation)
    shape = permutation.shape
    if shape.rank < 2:
        raise ValueError(f"permutation must have shape [..., r, n], got {shape}")
    ranks = tf.shape(permutation)[-2] if shape[-2] is None else shape[-2]
    permutation = arguments.at_most_list_size("the number of ranks of permutation", ranks, permutation)
    return _harden(permutation, arguments.axis_mask("mask", mask, permutation, -1))


@traced_if_eager
def _harden(permutation: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    if permutation.shape[-1] == 0:
        return permutation
    if mask is not None:
        permutation = tf.where(mask[..., tf.newaxis, :], permutation, tf.zeros_like(permutation))
    weights = tf.stop_gradient(flatten_lists(permutation, inner=2))
    count = tf.shape(weights)[1]
    # Above the lowest number, which marks taken items.
    raised = tf.maximum(weights, weights.dtype.min / 2)
    lowest = tf.constant(weights.dtype.min, weights.dtype)
    valid = None if mask is None else flatten_lists(mask)

    def take_best(rank: tf.Tensor, rank_of_item: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        is_open = rank_of_item < 0
        if valid is not None:
            is_first = tf.logical_and(is_open, valid)
            is_open = tf.where(tf.reduce_any(is_first, axis=-1, keepdims=True), is_first, is_open)
        choice = tf.argmax(tf.where(is_open, raised[:, rank], lowest), axis=-1, output_type=tf.int32)
        chosen = tf.equal(tf.range(tf.shape(weights)[2]), choice[:, tf.newaxis])
        return rank + 1, tf.where(chosen, rank, rank_of_item)

    unassigned = -tf.ones(tf.gather(tf.shape(weights), [0, 2]), tf.int32)
    _, rank_of_item = tf.while_loop(lambda rank, _: rank < count, take_best, (0, unassigned), maximum_iterations=count)
    hard = tf.equal(tf.range(count)[:, tf.newaxis], rank_of_item[:, tf.newaxis, :])
    is_invalid = tf.reduce_any(tf.math.is_nan(weights), axis=[1, 2], keepdims=True)
    hard = or_nan(tf.cast(hard, weights.dtype), is_invalid)
    return straight_through(tf.reshape(hard, tf.shape(permutation)), permutation)
