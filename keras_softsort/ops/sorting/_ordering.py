"""The exact order of a list, with which every soft sort starts: argsort with masks, directions and invalid scores."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from keras_softsort._internal.not_a_number import or_nan
from keras_softsort.ops.core.axes import flatten_lists, list_size
from keras_softsort.ops.core.deviations import in_deviations
from keras_softsort.ops.core.order import (
    descending,
    group_sums,
    inverse,
    masked_last,
    take,
    tie_groups,
    tied_ranks,
    valid_counts,
)
from keras_softsort.ops.core.temperature import temperature_per_list
from keras_softsort.ops.core.tracing import compares_pairs, on_device

# Larger quotients of scores and temperatures count as this.
MAX_QUOTIENT = {tf.float32: 1e30, tf.float64: 1e300}
# A weight is 0 if its logit is below the largest of its row by this gap.
MAX_GAP = {tf.float32: 110.0, tf.float64: 760.0}


class Ranks(NamedTuple):
    """Some ranks of each list, counted from 0."""

    numbers: tf.Tensor  # [B or 1, r] int32
    are_leading: bool  # whether they are known to be 0, 1, ..., r - 1

    def of(self, values: tf.Tensor) -> tf.Tensor:
        """The `values` [B, n, ...] of all ranks at these ranks: [B, r, ...]."""
        if not self.are_leading:
            return take(values, self.numbers)
        count = self.numbers.shape[1]
        if count is not None and count == values.shape[1]:
            return values
        return tf.cast(on_device(values)[:, : list_size(self.numbers)], values.dtype)


@dataclasses.dataclass(frozen=True)
class Lists:
    """Lists `[B, n]` in the compute dtype."""

    scores: tf.Tensor  # [B, n], negated for ASCENDING; 0 where masked
    tau: tf.Tensor  # [B, 1]; NaN for a list with a score that is not finite
    mask: tf.Tensor | None  # [B, n]
    keys: tf.Tensor  # [B, n]: what they are sorted by, the scores in their own units
    is_long: bool  # whether a tensor of all pairs of items would be too large

    def valid_counts(self) -> tf.Tensor:
        """The number of valid items of each list: [B, 1]."""
        if self.mask is None:
            return tf.fill([tf.shape(self.scores)[0], 1], self.scores.shape[1] or tf.shape(self.scores)[1])
        return valid_counts(self.mask, keepdims=True)

    def compare_pairs(self) -> bool:
        """Whether the target compares all pairs of items of lists of this size."""
        return compares_pairs(self.scores.shape[1])

    def in_deviations(self) -> Lists:
        """These lists with differences of scores in their standard deviations. Order and ties are still the scores'."""
        return dataclasses.replace(self, scores=in_deviations(self.scores, self.mask, from_origin=True))

    def of_valid(self, values: tf.Tensor) -> tf.Tensor:
        """The `values` [B, n] or [B, n, d] of items, 0 where masked."""
        if self.mask is None:
            return values
        mask = self.mask if values.shape.rank == 2 else self.mask[:, :, tf.newaxis]
        return tf.where(mask, values, tf.zeros_like(values))

    def sort_keys(self) -> tf.Tensor:
        """The keys [B, n] with masked items below all others."""
        return self.keys if self.mask is None else masked_last(self.keys, self.mask)

    def in_order(self) -> OrderedLists:
        keys, order = descending(self.sort_keys())
        return OrderedLists(self.scores, self.tau, self.mask, self.keys, self.is_long, order, inverse(order), keys)


@dataclasses.dataclass(frozen=True)
class OrderedLists(Lists):
    """Lists `[B, n]` with their stable descending order, in which masked items come last."""

    order: tf.Tensor  # [B, n] int32: the item at each rank
    ranks: tf.Tensor  # [B, n] int32: the rank of each item, from 0
    ordered_keys: tf.Tensor  # [B, n]: the descending scores, with the lowest number where masked

    def order_of_valid(self) -> tf.Tensor:
        """The item at each rank [B, n]; at ranks of masked items, the last valid one."""
        if self.mask is None:
            return self.order
        ranks = tf.range(tf.shape(self.scores)[1])
        return take(self.order, tf.minimum(ranks, tf.maximum(self.valid_counts() - 1, 0)))

    def positions(self, origin: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Minus the sorted scores [B, n] over tau, relative to that at `origin` [B, 1], and which ranks are valid.

        Masked items have the last valid one's position.
        """
        scores = take(self.scores, self.order_of_valid())
        padded = tf.pad(scores, [[0, 0], [0, 1]])  # there is an origin in an empty list too
        dtype = working_dtype(scores)
        apart = tf.cast(tf.stop_gradient(take(padded, tf.maximum(origin, 0))), dtype) - tf.cast(scores, dtype)
        return in_temperatures(apart, self.tau), tf.range(tf.shape(self.scores)[1]) < self.valid_counts()

    def completed_membership(
        self, shares: tf.Tensor, positions: tf.Tensor, valid: tf.Tensor, k: tf.Tensor
    ) -> tf.Tensor:
        """The memberships in the k [B, 1] largest: `shares` [B, n] if more than k items are valid.

        Otherwise valid items get 1, and masked ones share the rest evenly. All arguments are in the same order.
        """
        counts = self.valid_counts()
        # 1 for every item, or NaN for a list with a score that is not finite.
        everyone = tf.where(tf.math.is_nan(positions), positions, tf.ones_like(positions))
        shares = tf.where(counts <= k, everyone, shares * everyone)
        if self.mask is not None:
            missing, masked = tf.maximum(k - counts, 0), tf.maximum(tf.shape(positions)[1] - counts, 1)
            rest = tf.cast(missing, shares.dtype) / tf.cast(masked, shares.dtype)
            shares = tf.where(valid, shares, rest * everyone)
        return tf.cast(shares, self.scores.dtype)

    def ties(self) -> tuple[tf.Tensor, tf.Tensor]:
        """The first and the last rank [B, n] with the same score as each rank."""
        return tied_ranks(self.ordered_keys)

    def gradient_of_sorted_scores(self, d_rows: tf.Tensor, ranks: Ranks | None = None) -> tf.Tensor:
        """Turn a gradient [B, r] of the sorted scores, at `ranks` or all, into one of items [B, n], even among ties."""
        groups, size = tie_groups(self.ordered_keys), list_size(self.scores)
        sums = group_sums(d_rows, groups if ranks is None else ranks.of(groups), size)
        sizes = group_sums(tf.ones_like(groups, d_rows.dtype), groups, size)
        return take(sums / tf.maximum(sizes, 1), group_sums(groups, self.order, size))


def flat_lists(
    scores: tf.Tensor, tau: tf.Tensor, mask: tf.Tensor | None, direction: str = "DESCENDING", is_long: bool = False
) -> Lists:
    """The lists of `scores` [..., n] in the dtype of `tau`, with leading axes flattened to one."""
    if tau.shape.rank != 0:
        tau = temperature_per_list(tau, scores)
    scores = flatten_lists(scores)
    scores = tf.cast(scores, tau.dtype)
    if direction == "ASCENDING":
        scores = -scores
    if mask is not None:
        mask = flatten_lists(mask)
        scores = tf.where(mask, scores, tf.zeros_like(scores))
    finite = tf.math.is_finite(scores)
    # A NaN temperature makes every result and gradient of this list NaN, and of no other list. The order stays valid.
    all_finite = tf.reduce_all(finite, axis=-1, keepdims=True)
    tau = or_nan(tau, ~all_finite)
    scores = tf.where(finite, scores, tf.zeros_like(scores))
    return Lists(scores, tau, mask, keys=tf.stop_gradient(scores), is_long=is_long)


def working_dtype(scores: tf.Tensor) -> tf.DType:
    """The dtype in which vectors of the lists `scores` [B, n] are summed: float64, or theirs where that is emulated."""
    return scores.dtype if compares_pairs(scores.shape[1]) else tf.float64


def in_temperatures(scores: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
    """Distances of `scores` [B, n] / tau in the working dtype, clipped so that none of their differences overflows.

    Scores themselves must not be divided: different ones may have equal quotients.
    """
    dtype = working_dtype(scores)
    return tf.clip_by_value(tf.cast(scores, dtype) / tf.cast(tau, dtype), -MAX_QUOTIENT[dtype], MAX_QUOTIENT[dtype])
