"""Lists of a batch: leading axes, gathers, orders, tied ranks and masks."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.core.target import by_comparison
from keras_softsort.ops.core.tracing import is_compiled

# TensorFlow 2.15 gives the gradient of `tf.gather` another shape if the batch is empty.
LOSES_SHAPE_OF_NO_LISTS = tuple(map(int, tf.__version__.split(".")[:2])) < (2, 16)


def list_size(values: tf.Tensor) -> Any:
    """The list size n of `values` [B, n, ...], a Python int if it is known."""
    return values.shape[1] or tf.shape(values)[1]


def is_at_most(size: int | None, maximum: int) -> bool | None:
    """Whether `size` is at most `maximum`; None if the size is unknown in the graph, and so is the answer."""
    return None if size is None else size <= maximum


def ceil_division(number: Any, divisor: Any) -> Any:
    """The quotient rounded up, of Python or tensor integers of at least 0 and 1."""
    return (number + divisor - 1) // divisor  # onnxruntime rounds the quotient of a negative number towards 0


def flatten_lists(tensor: tf.Tensor, inner: int = 1) -> tf.Tensor:
    """Flatten all axes but the last `inner` to one. The rank may be unknown, and a list may be empty."""
    if tensor.shape.rank == inner + 1:
        return tensor
    shape, leading = tf.shape(tensor), leading_axes(tensor, inner)
    static = leading.num_elements()
    batch = tf.reduce_prod(shape[: _split(tensor, inner)]) if static is None else static
    # Not `shape[split:]`, whose length is unknown if the rank is, and not a reshape to -1, which fails if n is 0.
    return tf.reshape(tensor, [batch, *(shape[axis] for axis in range(-inner, 0))])


def leading_axes(tensor: tf.Tensor, inner: int = 1) -> tf.TensorShape:
    """The static shape of `tensor` without the last `inner` axes."""
    rank = tensor.shape.rank
    return tf.TensorShape(None) if rank is None else tensor.shape[: rank - inner]


def broadcast_leading(tensors: Sequence[tf.Tensor], inner: Sequence[int]) -> list[tf.Tensor]:
    """Broadcast the leading axes of `tensors` against each other; the last `inner` axes of each stay unchanged."""
    pairs = list(zip(tensors, inner, strict=True))
    if len({str(leading_axes(*pair)) for pair in pairs}) == 1 and leading_axes(*pairs[0]).is_fully_defined():
        return list(tensors)
    static = functools.reduce(tf.broadcast_static_shape, [leading_axes(*pair) for pair in pairs])
    shapes = [(tf.shape(tensor), _split(tensor, own)) for tensor, own in pairs]
    leading = functools.reduce(tf.broadcast_dynamic_shape, [shape[:split] for shape, split in shapes])
    results = []
    for (tensor, own), (shape, split) in zip(pairs, shapes, strict=True):
        result = tf.broadcast_to(tensor, tf.concat([leading, shape[split:]], axis=0))
        rank = tensor.shape.rank
        known = tf.TensorShape(None) if rank is None else static.concatenate(tensor.shape[rank - own :])
        results.append(with_static_shape(result, known))
    return results


def with_static_shape(tensor: tf.Tensor, shape: Any) -> tf.Tensor:
    """Return `tensor`, which has this `shape` where it is known, with this knowledge.

    Unlike `tf.ensure_shape` it adds no operation, which forward mode and LiteRT would refuse, and checks nothing.
    """
    tensor.set_shape(shape)
    return tensor


def _split(tensor: tf.Tensor, inner: int) -> Any:
    """The number of leading axes, a Python int if it is known."""
    rank = tensor.shape.rank
    return (tf.rank(tensor) if rank is None else rank) - inner


def take(values: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    """Gather along the lists of a batch: `values[b, indices[b, r]]`.

    The `values` are [B, n, ...], and the `indices` [B, r] or [1, r] for all lists.
    """
    size = values.shape[1]
    if by_comparison(size):
        chosen = tf.equal(indices[:, :, tf.newaxis], tf.range(size))
        inner = [1] * (values.shape.rank - 2)
        chosen = tf.reshape(chosen, tf.concat([tf.shape(chosen), inner], axis=0)) if inner else chosen
        if values.dtype == tf.bool:
            return tf.reduce_any(tf.logical_and(chosen, values[:, tf.newaxis]), axis=2)
        return tf.reduce_sum(tf.where(chosen, values[:, tf.newaxis], tf.zeros([], values.dtype)), axis=2)
    if LOSES_SHAPE_OF_NO_LISTS:
        values = tf.reshape(values, tf.shape(values))  # whose gradient has this shape again
    if indices.shape[0] == 1:
        return tf.gather(values, indices[0], axis=1)
    return tf.gather(values, indices, batch_dims=1)


def nearest_to_zero(scores: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """The valid score nearest 0 of each list [..., n], without a gradient: [..., 1]; 0 for a list without valid items.

    Relative to it, scores with a common offset are small, and one that is far from the others takes no digits of them.
    """
    largest = tf.constant(scores.dtype.max, scores.dtype)
    valid = scores if mask is None else tf.where(mask, scores, largest)
    sizes = tf.abs(valid)
    least = tf.reduce_min(sizes, axis=-1, keepdims=True)
    # Both may be there, and either will do.
    found = tf.reduce_max(tf.where(tf.equal(sizes, least), valid, -largest), axis=-1, keepdims=True)
    return tf.stop_gradient(tf.where(least < largest, found, tf.zeros_like(found)))


def excluded(dtype: tf.DType) -> tf.Tensor:
    """An exponent that adds nothing to a sum of exponentials, as `_logsumexp` reads it. Twice it does not overflow."""
    return tf.constant(dtype.min / 4, dtype)


def softmax_logits(scores: tf.Tensor, mask: tf.Tensor | None, tau: tf.Tensor) -> tf.Tensor:
    """Logits [B, n] with the softmax of finite scores in units of `tau`. Masked ones are `excluded`.

    They are relative to the largest score, so that the quotients and the gradient of tau keep their precision.
    """
    lowest = excluded(scores.dtype)
    if not _is_one(tau):
        valid = scores if mask is None else tf.where(mask, scores, lowest)
        scores = _difference(scores, tf.stop_gradient(tf.reduce_max(valid, axis=-1, keepdims=True)), mask) / tau
    return scores if mask is None else tf.where(mask, scores, lowest)


def pair_scores(scores: tf.Tensor, mask: tf.Tensor | None, tau: tf.Tensor) -> tf.Tensor:
    """Finite scores [B, n] in units of `tau`, up to a constant, for a loss that takes differences of pairs itself.

    They are relative to the one nearest 0, so that those near each other keep their digits beside one that is far from
    all others. They are not changed if tau is 1: their differences are then exact.
    """
    if _is_one(tau):
        return scores
    origin = nearest_to_zero(scores, mask)
    return _difference(scores, tf.where(tf.equal(tau, 1), tf.zeros([], scores.dtype), origin), mask) / tau


def _is_one(tau: Any) -> bool:
    """Whether `tau` is known to be 1 when traced."""
    known = tf.get_static_value(tau)
    return known is not None and known.ndim == 0 and known == 1


def _difference(scores: tf.Tensor, origin: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """The scores relative to `origin`, 0 where masked."""
    difference = scores - origin
    return difference if mask is None else tf.where(mask, difference, tf.zeros([], scores.dtype))


def within_range(pair_scores: tf.Tensor) -> tf.Tensor:
    """The scores of pairs, none so far away that a difference overflows. A quotient may be beyond all numbers."""
    farthest = pair_scores.dtype.max / 16
    return tf.clip_by_value(pair_scores, -farthest, farthest)


def relative_scores(scores: tf.Tensor, mask: tf.Tensor | None, tau: tf.Tensor) -> tf.Tensor:
    """The `pair_scores` within range. Masked ones are `excluded`, and a score of -inf stays below all others."""
    counts = tf.math.is_finite(scores)
    counts = counts if mask is None else tf.logical_and(mask, counts)
    below = within_range(pair_scores(scores, counts, tau))
    return tf.where(counts, below, tf.minimum(tf.stop_gradient(scores), excluded(scores.dtype)))


def repeat_samples(tensor: tf.Tensor, num_samples: int) -> tf.Tensor:
    """Repeat `tensor` `num_samples` times along a new second axis."""
    return tf.repeat(tensor[:, tf.newaxis], num_samples, axis=1)


def temperature_per_example(tau: tf.Tensor, lists: tf.Tensor) -> tf.Tensor:
    """Return `tau`, a scalar or one number per example `[batch]`, to broadcast against the leading axes of `lists`."""
    return tau if tau.shape.rank == 0 else tf.reshape(tau, [-1] + [1] * (lists.shape.rank - 2))


def temperature_per_list(tau: tf.Tensor, tensor: tf.Tensor, inner: int = 1) -> tf.Tensor:
    """`tau` of `arguments.temperature` for flattened lists: a scalar, or [B, 1, ...] with `inner` axes of size 1."""
    if tau.shape.rank == 0:
        return tau
    leading = tf.shape(tensor)[: tensor.shape.rank - inner]
    every = tf.reshape(tf.broadcast_to(tau, leading), [-1])
    return tf.reshape(every, tf.concat([tf.shape(every), [1] * inner], axis=0))


def descending(keys: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The keys [B, n] in descending order and their int32 items, the first of equal keys first; without a gradient."""
    keys = tf.stop_gradient(plus_zeros(keys) if is_compiled() else keys)
    return tf.math.top_k(keys, list_size(keys))


def masked_last(values: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """Sort keys: the `values`, with the lowest finite number where masked, and -inf as a number above it."""
    if mask is None:
        return values
    lowest = tf.constant(values.dtype.min, values.dtype)
    return tf.where(mask, tf.maximum(values, values.dtype.min / 2), lowest)


def inverse(order: tf.Tensor, size: tf.Tensor | None = None) -> tf.Tensor:
    """The rank of each item `[B, size]` in `order` [B, k], or k for an item that is not in it. `size` defaults to k.

    It is a segment sum, which costs less than a second sort. Unlike a scatter, it works under `tf.vectorized_map`.
    """
    batch, count = tf.shape(order)[0], list_size(order)
    # An item that is not in the order has the sum 0.
    from_last = tf.broadcast_to(tf.range(count, 0, -1), [batch, count])
    ranks = count - group_sums(from_last, order, count if size is None else size)
    return with_static_shape(ranks, order.shape) if size is None else ranks


def group_sums(values: tf.Tensor, groups: tf.Tensor, size: int | tf.Tensor) -> tf.Tensor:
    """The sum of the `values` [B, m] of each group [B, size] of a list, by the numbers `groups` [B, m], from 0."""
    known = tf.get_static_value(size)
    if known is not None and by_comparison(int(known)):
        chosen = tf.equal(groups[:, tf.newaxis, :], tf.range(size)[:, tf.newaxis])
        return tf.reduce_sum(tf.where(chosen, values[:, tf.newaxis, :], tf.zeros([], values.dtype)), axis=2)
    batch = tf.shape(groups)[0]
    places = groups + size * tf.range(batch)[:, tf.newaxis]
    sums = tf.math.unsorted_segment_sum(tf.reshape(values, [-1]), tf.reshape(places, [-1]), batch * size)
    return tf.reshape(sums, [batch, size])


def is_nan_or_infinity(values: tf.Tensor) -> tf.Tensor:
    """Mark NaN and +inf."""
    return tf.logical_or(tf.math.is_nan(values), values > values.dtype.max)


def is_minus_infinity(values: tf.Tensor) -> tf.Tensor:
    """Mark -inf. What it does not mark may be NaN, which `values >= lowest` would leave out."""
    return tf.logical_and(tf.math.is_inf(values), values < 0)


def plus_zeros(values: tf.Tensor) -> tf.Tensor:
    """`values` with 0.0 for -0.0, which XLA sorts before 0.0."""
    zero = tf.zeros([], values.dtype)
    return tf.where(tf.equal(values, zero), zero, values)


def tie_groups(sort_keys: tf.Tensor) -> tf.Tensor:
    """The number, from 0, of the group of equal keys at each rank [B, n], for `sort_keys` [B, n] in order."""
    after = tf.concat([sort_keys[:, 1:], sort_keys[:, -1:]], axis=-1)
    # Exclusive, so that the first group is 0 for NaN too, which differs from itself.
    return tf.cumsum(tf.cast(tf.not_equal(sort_keys, after), tf.int32), axis=-1, exclusive=True)


def tied_ranks(sort_keys: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The first and the last rank [B, n] with the same key as each rank, for descending `sort_keys` [B, n].

    NaN differs from itself.
    """
    groups = tie_groups(sort_keys)
    sizes = group_sums(tf.ones_like(groups), groups, list_size(groups))
    last = take(tf.cumsum(sizes, axis=-1), groups) - 1
    return last - take(sizes, groups) + 1, last


def tie_sums(values: tf.Tensor, first: tf.Tensor) -> tf.Tensor:
    """The sum of the `values` [B, n] of ranks that are tied: that have the same `first` rank [B, n]."""
    return take(group_sums(values, first, list_size(values)), first)


def mean_ranks(values: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """The ranks of `values` [B, n], 1 for the largest. Tied values get the mean of their ranks, masked ones 0."""
    keys, order = descending(masked_last(values, mask))
    first, last = tied_ranks(keys)
    means = tf.cast(take(first + last, inverse(order)), values.dtype) / 2 + 1
    return means if mask is None else tf.where(mask, means, tf.zeros_like(means))


def leading_ranks(mask: tf.Tensor, count: int | None = None) -> tf.Tensor:
    """Mark as many leading ranks as `mask` `[batch, n]` has valid items, of all ranks or of the first `count`."""
    valid = tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1)
    return tf.sequence_mask(valid, tf.shape(mask)[-1])[:, :count]


def leading_columns(logits: tf.Tensor, row_mask: tf.Tensor) -> tf.Tensor:
    """Mark as many leading columns as there are valid rows in a square matrix, and all columns otherwise."""
    rows, columns = tf.unstack(tf.shape(logits)[1:])
    valid = tf.reduce_sum(tf.cast(row_mask, tf.int32), axis=-1)
    return tf.sequence_mask(tf.where(tf.equal(rows, columns), valid, columns), columns)


def of_all_entries(name: str, mask: Any, tensor: tf.Tensor) -> tf.Tensor | None:
    """Check a mask of the leading axes of `tensor`, and broadcast it to all its entries."""
    if mask is None:
        return None
    mask = arguments.bool_mask(name, mask)
    rank = mask.shape.rank
    if not rank or not mask.shape.is_compatible_with(tensor.shape[:rank]):
        raise ValueError(f"{name} must have the leading axes of logits, {tensor.shape}, got {mask.shape}")
    mask = arguments.of_shape(name, mask, tf.shape(tensor)[:rank])
    missing = [1] * (tensor.shape.rank - rank)
    return tf.broadcast_to(tf.reshape(mask, [*tf.unstack(tf.shape(mask)), *missing]), tf.shape(tensor))
