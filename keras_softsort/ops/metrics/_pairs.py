"""Sums over the pairs of items that two lists of numbers order alike."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.core.axes import list_size
from keras_softsort.ops.core.order import descending, inverse, masked_last, take, tied_ranks, valid_counts
from keras_softsort.ops.core.tracing import compares_pairs


def sum_dtype(first: tf.Tensor, second: tf.Tensor) -> tf.DType:
    """The dtype in which ranks and pairs of two lists [..., n] are summed: float32 where pairs are compared in it."""
    in_float32 = tf.float64 not in (first.dtype, second.dtype) and compares_pairs(first.shape[-1])
    return tf.float32 if in_float32 else tf.float64


def concordant_pairs(first: tf.Tensor, second: tf.Tensor, mask: tf.Tensor | None, weights: tf.Tensor) -> tf.Tensor:
    """`sum w_i` over the pairs with `first_i > first_j` and `second_i > second_j`: [B], for lists [B, n].

    Masked items have the weight 0.
    """
    if compares_pairs(list_size(first)):
        return _compared_sum(_is_below(first) & _is_below(second), mask, weights)
    # Pairs with the same order are inversions of the ascending order of one and the descending order of the other.
    # Tied items are in the order of the other list, so that they are no inversions.
    _, by_second = descending(second)
    _, by_first = descending(take(masked_last(-first, mask), by_second))
    order = take(by_second, by_first)
    ranks = inverse(descending(take(second, order))[1])
    return weight_of_inversions(ranks, take(weights, order))


def untied_pairs(values: tf.Tensor, mask: tf.Tensor | None, weights: tf.Tensor) -> tf.Tensor:
    """`sum w_i` over the pairs with `value_i > value_j`: [B], for lists [B, n]. Masked items have the weight 0."""
    if compares_pairs(list_size(values)):
        return _compared_sum(_is_below(values), mask, weights)
    keys, order = descending(masked_last(values, mask))
    size = list_size(values) if mask is None else valid_counts(mask, keepdims=True)
    below = tf.cast(size - 1, weights.dtype) - tf.cast(tied_ranks(keys)[1], weights.dtype)
    return tf.reduce_sum(take(weights, order) * below, axis=1)


def _is_below(values: tf.Tensor) -> tf.Tensor:
    """Whether item j has a lower value than item i: [B, i, j]."""
    return values[:, tf.newaxis, :] < values[:, :, tf.newaxis]


def _compared_sum(pairs: tf.Tensor, mask: tf.Tensor | None, weights: tf.Tensor) -> tf.Tensor:
    """The sum of the `weights` of items i over `pairs` [B, i, j] with valid items j."""
    pairs = pairs if mask is None else pairs & mask[:, tf.newaxis, :]
    return tf.reduce_sum(weights * tf.reduce_sum(tf.cast(pairs, weights.dtype), axis=2), axis=1)


def weight_of_inversions(permutation: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Sum the weights of the smaller values of all pairs in descending order: [B].

    Each `permutation` [B, n] has the int32 values 0 to n - 1. It is a radix sort from the highest bit down. A pass
    moves the values with bit 0 before those with bit 1 within blocks of equal higher bits, and adds the pairs that
    swap. The block of the values from `start` on begins at position `start`.
    """
    batch, size = tf.unstack(tf.shape(permutation))
    index = tf.broadcast_to(tf.range(size), tf.shape(permutation))
    offsets = size * tf.range(batch)[:, tf.newaxis]
    bits = tf.reduce_sum(tf.cast(tf.bitwise.left_shift(1, tf.range(31)) < size, tf.int32))

    def sort_by_bit(bit: tf.Tensor, total: tf.Tensor, values: tf.Tensor, weights: tf.Tensor) -> tuple[tf.Tensor, ...]:
        half = tf.bitwise.left_shift(1, bit)
        is_small = tf.equal(tf.bitwise.bitwise_and(values, half), 0)
        start = index - tf.bitwise.bitwise_and(index, 2 * half - 1)
        # Blocks before this one are full: half of their values are small.
        small_before = tf.cumsum(tf.cast(is_small, tf.int32), axis=-1, exclusive=True) - start // 2
        large_before = index - start - small_before
        crossed = tf.cast(tf.where(is_small, large_before, tf.zeros_like(large_before)), weights.dtype)
        position = tf.reshape(start + tf.where(is_small, small_before, half + large_before) + offsets, [-1, 1])
        values, moved = (
            tf.reshape(tf.scatter_nd(position, tf.reshape(each, [-1]), [batch * size]), [batch, size])
            for each in (values, weights)
        )
        return bit - 1, total + tf.reduce_sum(crossed * weights, axis=-1), values, moved

    unknown = [tf.TensorShape(shape) for shape in ([], [None], [None, None], [None, None])]
    state = (bits - 1, tf.zeros([batch], weights.dtype), permutation, weights)
    # XLA compiles a gradient, even an unused one, only with a limit.
    found = tf.while_loop(
        lambda bit, *_: bit >= 0, sort_by_bit, state, shape_invariants=tuple(unknown), maximum_iterations=31
    )
    return found[1]
