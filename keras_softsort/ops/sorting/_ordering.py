"""The exact order of a list, with which every soft sort starts: argsort with masks, directions and invalid scores."""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

from keras_softsort._internal.arguments import compute_dtype
from keras_softsort.ops._core.lists import (
    descending,
    flatten_lists,
    inverse,
    take,
    temperature_per_list,
    tie_groups,
    tied_ranks,
)

# Larger quotients of scores and temperatures count as this.
LARGEST = 1e300
# A weight is 0 if its logit is below the largest of its row by this gap.
MAX_GAP = {tf.float32: 110.0, tf.float64: 760.0}


class OrderedLists(NamedTuple):
    """Lists `[B, n]` in the compute dtype, and their stable descending order with masked items last."""

    scores: tf.Tensor  # [B, n], negated for ASCENDING; 0 where masked or not finite
    tau: tf.Tensor  # [B, 1]; NaN for a list with a score that is not finite
    mask: tf.Tensor | None  # [B, n]
    order: tf.Tensor  # [B, n] int32: the item at each rank
    ranks: tf.Tensor  # [B, n] int32: the rank of each item, from 0
    sort_keys: tf.Tensor  # [B, n] descending: the sorted scores, -inf where masked

    def valid_counts(self) -> tf.Tensor:
        """The number of valid items of each list: [B, 1]."""
        lists, size = tf.unstack(tf.shape(self.scores))
        if self.mask is None:
            return tf.fill([lists, 1], size)
        return tf.reduce_sum(tf.cast(self.mask, tf.int32), axis=-1, keepdims=True)

    def of_valid(self, values: tf.Tensor) -> tf.Tensor:
        """The `values` [B, n] or [B, n, d] of items, 0 where masked."""
        if self.mask is None:
            return values
        mask = self.mask if values.shape.rank == 2 else self.mask[:, :, tf.newaxis]
        return tf.where(mask, values, tf.zeros_like(values))

    def order_of_valid(self) -> tf.Tensor:
        """The item at each rank [B, n]; at ranks of masked items, the last valid one."""
        if self.mask is None:
            return self.order
        ranks = tf.range(tf.shape(self.scores)[1])
        return take(self.order, tf.minimum(ranks, tf.maximum(self.valid_counts() - 1, 0)))

    def positions(self, origin: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Minus the sorted scores [B, n] in units of tau, in float64, and which ranks are valid.

        They are relative to the score at the rank `origin` [B, 1]. Masked items have the last valid one's position.
        """
        scores = take(self.scores, self.order_of_valid())
        padded = tf.pad(scores, [[0, 0], [0, 1]])  # there is an origin in an empty list too
        apart = tf.cast(tf.stop_gradient(take(padded, tf.maximum(origin, 0))), tf.float64) - tf.cast(scores, tf.float64)
        return in_temperatures(apart, self.tau), tf.range(tf.shape(self.scores)[1]) < self.valid_counts()

    def completed_membership(self, shares: tf.Tensor, positions: tf.Tensor, k: tf.Tensor) -> tf.Tensor:
        """Memberships of items in the k [B, 1] largest from the `shares` [B, n] of ranks with these `positions`.

        If at most k items are valid, they get 1, and the masked ones share the rest evenly.
        """
        counts = self.valid_counts()
        # 1 for every item, or NaN for a list with a score that is not finite.
        everyone = tf.where(tf.math.is_nan(positions), positions, tf.ones_like(positions))
        shares = tf.where(counts <= k, everyone, shares * everyone)
        size = tf.shape(positions)[1]
        rest = tf.maximum(k - counts, 0) / tf.maximum(size - counts, 1)
        shares = tf.where(tf.range(size) < counts, shares, tf.cast(rest, shares.dtype) * everyone)
        return take(tf.cast(shares, self.scores.dtype), self.ranks)

    def ties(self) -> tuple[tf.Tensor, tf.Tensor]:
        """The first and the last rank [B, n] with the same score as each rank."""
        return tied_ranks(self.sort_keys)

    def gradient_of_sorted_scores(self, d_rows: tf.Tensor, ranks: tf.Tensor | None = None) -> tf.Tensor:
        """Turn a gradient [B, r] of the sorted scores at `ranks`, or at all, into one of the items [B, n].

        Tied items share it evenly.
        """
        batch, size = tf.unstack(tf.shape(self.scores))
        groups = tie_groups(self.sort_keys) + size * tf.range(batch)[:, tf.newaxis]
        sums = tf.math.unsorted_segment_sum(d_rows, groups if ranks is None else take(groups, ranks), batch * size)
        sizes = tf.math.unsorted_segment_sum(tf.ones_like(groups, d_rows.dtype), groups, batch * size)
        return tf.gather(sums / tf.maximum(sizes, 1), take(groups, self.ranks))


def ordered_lists(
    scores: tf.Tensor, tau: tf.Tensor, mask: tf.Tensor | None, direction: str = "DESCENDING"
) -> OrderedLists:
    """Sort each list of `scores` [..., n], with leading axes flattened to one."""
    tau = temperature_per_list(tau, scores)
    scores = flatten_lists(scores)
    scores = tf.cast(scores, compute_dtype(scores.dtype))
    if direction == "ASCENDING":
        scores = -scores
    finite = tf.math.is_finite(scores)
    if mask is not None:
        mask = flatten_lists(mask)
        finite = tf.logical_or(finite, tf.logical_not(mask))
        scores = tf.where(mask, scores, tf.zeros_like(scores))
    all_finite = tf.reduce_all(finite, axis=-1, keepdims=True)
    # A NaN temperature makes every result and gradient of this list NaN, and of no other list. The order stays valid.
    tau = tf.where(all_finite, tau, tf.constant(math.nan, scores.dtype))
    scores = tf.where(finite, scores, tf.zeros_like(scores))

    keys = scores if mask is None else tf.where(mask, scores, tf.constant(-math.inf, scores.dtype))
    sort_keys, order = descending(keys)
    order = tf.ensure_shape(order, keys.shape)
    return OrderedLists(scores, tau, mask, order, inverse(order), sort_keys)


def in_temperatures(scores: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
    """`scores / tau` in float64, clipped so that no difference overflows."""
    quotients = tf.cast(scores, tf.float64) / tf.cast(tau, tf.float64)
    return tf.clip_by_value(quotients, -LARGEST, LARGEST)
