"""The logits of NeuralSort and SoftSort at a temperature of 1."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.numbers import running_sums, straight_through
from keras_softsort.ops.core.order import descending, inverse, take, tied_ranks
from keras_softsort.ops.sorting._ordering import Lists, Ranks, working_dtype

# NeuralSort's scores farther from the middle count as this, so that their sums do not overflow.
MAX_DISTANCE = {tf.float32: 1e33, tf.float64: 1e300}


def neural_sort_logits(lists: Lists, ranks: Ranks, power: float) -> tf.Tensor:
    """`(n + 1 - 2 i) s_j - sum_k |s_j - s_k|` in the rows i from 1: [B, r, n]."""
    del power
    size = lists.scores.shape[1] or tf.shape(lists.scores)[1]
    counts = size if lists.mask is None else lists.valid_counts()
    slopes = tf.cast(counts - 1 - 2 * ranks.numbers, lists.scores.dtype)  # [B or 1, r]
    items = sorted_items(lists) if lists.is_long else _compared_items(lists)
    scores = _from_middle(lists, items.balance())
    return slopes[:, :, tf.newaxis] * scores[:, tf.newaxis, :] - items.distances(scores)[:, tf.newaxis, :]


def soft_sort_logits(lists: Lists, ranks: Ranks, power: float) -> tf.Tensor:
    """`-|sorted_i - s_j|^power` in the rows i: [B, r, n]."""
    return -_power(tf.abs(_sorted_scores(lists, ranks)[:, :, tf.newaxis] - lists.scores[:, tf.newaxis, :]), power)


class SortedItems(NamedTuple):
    """The order of long lists, with masked items last: no tensor holds all pairs."""

    order: tf.Tensor  # [B, n] int32: the item at each rank
    first: tf.Tensor  # [B, n] int32: the first and the last rank of the items that are tied with an item
    last: tf.Tensor
    counts: tf.Tensor  # [B, 1] int32: valid items
    dtype: tf.DType

    def balance(self) -> tf.Tensor:
        """The number of items above each item minus the number below it: [B, n]."""
        return tf.cast(self.first + self.last + 1 - self.counts, self.dtype)

    def distances(self, centered: tf.Tensor) -> tf.Tensor:
        """`sum_k |c_j - c_k| - |c_k|` for `centered` scores c [B, n], 0 where masked: [B, n]."""
        # Sums from 0 outwards, so that a score far from 0 costs those nearer to it no digits.
        inner = self._above(tf.minimum(centered, 0)) - self._below(tf.nn.relu(centered))
        tied = tf.cast(self.last - self.first + 1, self.dtype)
        exact = tf.cast(2 * inner, self.dtype) - tied * tf.abs(centered)
        plain = tf.cast(self._above(centered) - self._below(centered), self.dtype)
        return straight_through(exact, plain) - self.balance() * centered

    def _above(self, values: tf.Tensor) -> tf.Tensor:
        """The sums of `values` [B, n], 0 where masked, over the items above each item."""
        sums = running_sums(self._by_rank(values))
        return take(tf.pad(sums, [[0, 0], [1, 0]]), self.first)

    def _below(self, values: tf.Tensor) -> tf.Tensor:
        """The sums of `values` [B, n], 0 where masked, over the items below each item."""
        sums = running_sums(self._by_rank(values), reverse=True)
        return take(tf.pad(sums, [[0, 0], [0, 1]]), self.last + 1)

    def _by_rank(self, values: tf.Tensor) -> tf.Tensor:
        return tf.cast(take(values, self.order), working_dtype(values))


def sorted_items(lists: Lists) -> SortedItems:
    """The items of `lists` in order."""
    keys, order = descending(lists.sort_keys())
    ranks = inverse(order)
    first, last = (take(each, ranks) for each in tied_ranks(keys))
    return SortedItems(order, first, last, lists.valid_counts(), lists.scores.dtype)


class ComparedItems(NamedTuple):
    """All pairs of the items of short lists. It has the methods of `SortedItems`."""

    above: tf.Tensor  # [B, j, k]: 1 where item k is valid and above j, -1 where it is valid and below j, else 0

    def balance(self) -> tf.Tensor:
        return tf.reduce_sum(self.above, axis=2)

    def distances(self, centered: tf.Tensor) -> tf.Tensor:
        # Each term is exact: 0, or -|c_k| or -2 |c_k| if item k is between 0 and c_j. So a score far from 0 costs those
        # nearer to it no digits.
        signs = self.above - tf.stop_gradient(tf.sign(centered))[:, tf.newaxis, :]
        return tf.reduce_sum(signs * centered[:, tf.newaxis, :], axis=2) - self.balance() * centered


def _compared_items(lists: Lists) -> ComparedItems:
    scores = tf.stop_gradient(lists.scores)
    above = tf.sign(scores[:, tf.newaxis, :] - scores[:, :, tf.newaxis])
    if lists.mask is not None:
        above = tf.where(lists.mask[:, tf.newaxis, :], above, tf.zeros_like(above))
    return ComparedItems(above)


def _from_middle(lists: Lists, balance: tf.Tensor) -> tf.Tensor:
    """The scores relative to a valid one with as many items above as below, or nearly: [B, n], 0 where masked.

    So neither an offset of all scores nor the size of a score far from the others costs digits.
    """
    scores, mask, uneven = lists.scores, lists.mask, tf.abs(balance)
    if mask is not None:
        uneven = tf.where(mask, uneven, tf.constant(uneven.dtype.max, uneven.dtype))
    is_middle = uneven <= tf.reduce_min(uneven, axis=1, keepdims=True)
    lowest = tf.constant(scores.dtype.min, scores.dtype)
    middle = tf.stop_gradient(tf.reduce_max(tf.where(is_middle, scores, lowest), axis=1, keepdims=True))
    farthest = MAX_DISTANCE[scores.dtype]
    centered = tf.clip_by_value(scores - middle, -farthest, farthest)
    return centered if mask is None else tf.where(mask, centered, tf.zeros_like(centered))


def _sorted_scores(lists: Lists, ranks: Ranks) -> tf.Tensor:
    """The scores at some ranks: [B, r]. Tied items share the gradient of a rank evenly."""
    ordered = lists.in_order()

    @tf.custom_gradient
    def at_ranks(scores: tf.Tensor) -> tuple:
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            return ordered.gradient_of_sorted_scores(upstream, ranks)

        # The bound changes no number. Without an operation here, a TPU's compiler stores these scores for all pairs.
        return tf.maximum(take(scores, ranks.of(ordered.order)), scores.dtype.min), gradient

    return at_ranks(lists.scores)


def _power(distance: tf.Tensor, power: float) -> tf.Tensor:
    """`distance ** power` with a finite slope, which counts as 0 at 0."""
    if power == 1:
        return distance
    if power > 1:
        distance = tf.minimum(distance, (distance.dtype.max / 4) ** (1 / power))
    if power == 2:
        return tf.square(distance)
    is_apart = distance > 0
    powers = tf.pow(tf.where(is_apart, distance, tf.ones_like(distance)), power)
    return tf.where(is_apart, powers, tf.zeros_like(distance))
