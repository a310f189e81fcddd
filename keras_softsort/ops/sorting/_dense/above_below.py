"""Sums over the items above and below each item of a long list, from its order: no tensor holds all pairs."""

from __future__ import annotations

import dataclasses

import tensorflow as tf

from keras_softsort.ops.core.numbers import running_sums, straight_through
from keras_softsort.ops.core.order import descending, inverse, take, tied_ranks
from keras_softsort.ops.sorting._ordering import Lists, working_dtype


@dataclasses.dataclass(frozen=True)
class SortedItems:
    """The order of lists, with masked items last."""

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
