"""Sums over the items above each item of a list, less those over the items below it.

Short lists compare all pairs. Long lists are sorted, so that no tensor holds all pairs.
"""

from __future__ import annotations

import dataclasses

import tensorflow as tf

from keras_softsort.ops.core.numbers import running_sums, times_vector
from keras_softsort.ops.core.order import descending, inverse, take, tied_ranks
from keras_softsort.ops.sorting._ordering import Lists, working_dtype


@dataclasses.dataclass(frozen=True)
class ComparedItems:
    """All pairs of the items of lists."""

    above: tf.Tensor  # [B, j, k]: 1 where item k is valid and above j, -1 where it is valid and below j, else 0

    def balance(self) -> tf.Tensor:
        """The number of items above each item minus the number below it: [B, n]."""
        return tf.reduce_sum(self.above, axis=2)

    def sums(self, values: tf.Tensor) -> tf.Tensor:
        """The sums of `values` [B, n] of items: [B, n]."""
        return times_vector(self.above, values)

    def distances(self, centered: tf.Tensor) -> tf.Tensor:
        """`sum_k |c_j - c_k| - |c_k|` for `centered` scores c [B, n], 0 where masked: [B, n]."""
        others = centered[:, tf.newaxis, :]
        # Each term is exact: 0, or -|c_k| or -2 |c_k| if item k is between 0 and c_j. So a score far from 0 costs those
        # nearer to it no digits.
        inner = tf.reduce_sum(self.above * others - tf.abs(others), axis=2)
        return inner - self.balance() * centered


@dataclasses.dataclass(frozen=True)
class SortedItems:
    """The order of lists, with masked items last. It has the methods of `ComparedItems`."""

    order: tf.Tensor  # [B, n] int32: the item at each rank
    first: tf.Tensor  # [B, n] int32: the first and the last rank of the items that are tied with an item
    last: tf.Tensor
    counts: tf.Tensor  # [B, 1] int32: valid items
    dtype: tf.DType

    def balance(self) -> tf.Tensor:
        return tf.cast(self.first + self.last + 1 - self.counts, self.dtype)

    def sums(self, values: tf.Tensor) -> tf.Tensor:
        result = self._above(values) - self._below(values)
        return tf.cast(result, self.dtype)

    def distances(self, centered: tf.Tensor) -> tf.Tensor:
        # Sums from 0 outwards, so that a score far from 0 costs those nearer to it no digits.
        inner = self._above(tf.minimum(centered, 0)) - self._below(tf.nn.relu(centered))
        tied = tf.cast(self.last - self.first + 1, self.dtype)
        return tf.cast(2 * inner, self.dtype) - self.balance() * centered - tied * tf.abs(centered)

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


def above_below(lists: Lists, scores: tf.Tensor) -> ComparedItems | SortedItems:
    """The items of `lists` with these `scores` [B, n], which are theirs."""
    if lists.is_long:
        keys, order = descending(lists.sort_keys())
        ranks = inverse(order)
        first, last = (take(each, ranks) for each in tied_ranks(keys))
        return SortedItems(order, first, last, lists.valid_counts(), scores.dtype)
    above = tf.sign(scores[:, tf.newaxis, :] - scores[:, :, tf.newaxis])
    if lists.mask is not None:
        above = tf.where(lists.mask[:, tf.newaxis, :], above, tf.zeros_like(above))
    return ComparedItems(above)
