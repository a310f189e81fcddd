"""The pair weights of LambdaRank: the change of a ranking metric if two items are swapped, from features of items."""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.lists import descending, inverse, plus_zeros, take
from keras_softsort.ops.ranking._dcg import absolute_gains, discounts, ideal_dcg, rank_discounts, relative_gains
from keras_softsort.ops.ranking._pairs.arguments import PairLists, PairOptions


class DeltaFeatures(NamedTuple):
    """Features of items `[B, n]`. A swap changes the metric by `|(gain_i - gain_j) (effect_i - effect_j)|`.

    Average precision needs a second effect, for pairs whose relevant item is behind the other one.
    """

    gains: tf.Tensor
    ranks: tf.Tensor  # 1 = the highest score
    effects: tf.Tensor
    effects_behind: tf.Tensor  # for a relevant item behind the other one; differs from `effects` only for "map"


def delta_features(lists: PairLists, options: PairOptions) -> DeltaFeatures:
    """The features for the current order of the scores, with ties in the order of the list and padding last."""
    lowest = tf.constant(-math.inf, lists.scores.dtype)
    keys = tf.where(lists.mask, plus_zeros(lists.scores), lowest)
    _, order = descending(keys)
    ranks = tf.cast(inverse(order) + 1, lists.scores.dtype)
    if options.lambda_weight == "label_diff":
        return DeltaFeatures(lists.labels, ranks, ranks, ranks)
    if options.lambda_weight in ("map", "precision"):
        relevant = tf.cast(tf.logical_and(lists.labels >= options.min_label, lists.mask), lists.scores.dtype)
        if options.lambda_weight == "map":
            return _of_average_precision(relevant, ranks, order, options.k)
        effects = tf.cast(ranks <= options.k, ranks.dtype)
        return DeltaFeatures(relevant, ranks, effects, effects)
    effects = discounts(ranks, options.discount)
    if options.k is not None:
        effects = tf.where(ranks <= options.k, effects, tf.zeros_like(effects))
    return DeltaFeatures(_gains(lists, options), ranks, effects, effects)


def pair_weights(options: PairOptions, one: DeltaFeatures, other: DeltaFeatures) -> tf.Tensor:
    """The weight of each pair. The features broadcast against each other; `one` is the item with the greater label.

    If gains rise with labels, the weight is 0 where the gain of `one` is not the greater.
    """
    gains = one.gains - other.gains
    gains = tf.nn.relu(gains) if gains_rise(options) else tf.abs(gains)
    if options.lambda_weight == "label_diff":
        return gains
    if options.lambda_weight == "map":
        ahead = one.ranks < other.ranks
        change = tf.where(ahead, other.effects - one.effects, one.effects_behind - other.effects_behind)
        return gains * tf.abs(change)
    absolute = tf.abs(one.effects - other.effects)
    if options.lambda_weight == "precision":
        return gains * absolute
    distance = tf.abs(one.ranks - other.ranks)
    if options.neighbors_only:
        gains *= tf.cast(tf.equal(distance, 1), gains.dtype)
    if options.version == 1 and options.smooth_fraction == 1:
        return gains * absolute
    # An item with itself is not a pair, so any distance will do.
    distance = tf.maximum(distance, 1)
    relative = tf.abs(discounts(distance, options.discount) - discounts(distance + 1, options.discount))
    if options.version == 2:
        return gains * relative * _beyond_k(options, tf.maximum(one.ranks, other.ranks))
    if options.k is not None:
        counted = tf.minimum(one.ranks, other.ranks) <= options.k
        relative = tf.where(counted, relative, tf.constant(0, relative.dtype))
    return gains * ((1 - options.smooth_fraction) * relative + options.smooth_fraction * absolute)


def gains_rise(options: PairOptions) -> bool:
    """Whether a greater label never has a smaller gain."""
    return isinstance(options.gain, str)


def _beyond_k(options: PairOptions, last: tf.Tensor) -> tf.Tensor | int:
    """The factor 1 / (1 - D(r)) of pairs whose last rank r is after k."""
    if options.k is None:
        return 1
    # Not of rank 1, whose discount may be 1.
    beyond = last > options.k
    safe = tf.where(beyond, last, tf.constant(2, last.dtype))
    return tf.where(beyond, 1 / (1 - discounts(safe, options.discount)), tf.constant(1, last.dtype))


def _gains(lists: PairLists, options: PairOptions) -> tf.Tensor:
    """The gains of the labels, divided by the ideal DCG of the list except for "dcg"."""
    if options.lambda_weight == "dcg":
        return absolute_gains(lists.labels, lists.mask, options.gain)
    gains = relative_gains(lists.labels, lists.mask, options.gain)
    rank_weights = rank_discounts(tf.shape(gains)[1], gains.dtype, options.k, options.discount)
    return tf.math.divide_no_nan(gains, ideal_dcg(gains, rank_weights)[:, tf.newaxis])


def _of_average_precision(relevant: tf.Tensor, ranks: tf.Tensor, order: tf.Tensor, k: int | None) -> DeltaFeatures:
    """The effects `H - c / r` and `H - (c + 1) / r` of rank r, for average precision.

    c is the number of relevant items up to rank r, and H is the sum of 1 / rank over them. If a relevant item is
    swapped with an irrelevant one behind it, the precision c / r of its rank is replaced by that of the other rank, and
    each relevant item between them loses 1 / rank. Ranks after `k` do not count.
    """
    places = tf.cast(tf.range(1, tf.shape(order)[1] + 1), ranks.dtype)
    counted = tf.ones_like(places) if k is None else tf.cast(places <= k, ranks.dtype)
    ordered = take(relevant, order)
    found = tf.cumsum(ordered, axis=-1)
    between = tf.cumsum(ordered * counted / places, axis=-1)
    positions = tf.cast(ranks, tf.int32) - 1
    gains = tf.math.divide_no_nan(relevant, tf.reduce_sum(relevant, axis=-1, keepdims=True))
    return DeltaFeatures(
        gains,
        ranks,
        take(between - counted * found / places, positions),
        take(between - counted * (found + 1) / places, positions),
    )
