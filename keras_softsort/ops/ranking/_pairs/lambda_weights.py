"""What swapping two items would change of a ranking metric: the pair weights of LambdaRank, from features of items."""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.batching import take
from keras_softsort.ops._core.permutations import inverse
from keras_softsort.ops.ranking._dcg import absolute_gains, discounts, ideal_dcg, rank_discounts, relative_gains
from keras_softsort.ops.ranking._pairs.arguments import PairLists, PairOptions


class DeltaFeatures(NamedTuple):
    """Of each item `[B, n]`. A swap changes a metric by (gain_i - gain_j) (effect_i - effect_j), but for its sign.

    Average precision needs a second effect: which one counts depends on which of the two items is ahead.
    """

    gains: tf.Tensor
    ranks: tf.Tensor  # 1 = the highest score
    effects: tf.Tensor
    effects_behind: tf.Tensor  # of a relevant item that stands behind the other one; `effects` but for "map"


def delta_features(lists: PairLists, options: PairOptions) -> DeltaFeatures:
    """The features by the current order of the scores, ties in the order of the list, padding last."""
    nowhere = tf.constant(-math.inf, lists.scores.dtype)
    order = tf.argsort(tf.where(lists.mask, lists.scores, nowhere), direction="DESCENDING", stable=True)
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
    """The weight of each pair: all features broadcast against each other, `one` the item with the greater label."""
    gains = tf.abs(one.gains - other.gains)
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
    # Where both are one item, which is no pair, any distance will do.
    distance = tf.maximum(distance, 1)
    relative = tf.abs(discounts(distance, options.discount) - discounts(distance + 1, options.discount))
    if options.version == 2:
        return gains * relative * _beyond_k(options, tf.maximum(one.ranks, other.ranks))
    if options.k is not None:
        counted = tf.minimum(one.ranks, other.ranks) <= options.k
        relative = tf.where(counted, relative, tf.constant(0, relative.dtype))
    return gains * ((1 - options.smooth_fraction) * relative + options.smooth_fraction * absolute)


def _beyond_k(options: PairOptions, last: tf.Tensor) -> tf.Tensor | int:
    """The factor 1 / (1 - D(r)) of pairs of which the last rank r lies after k."""
    if options.k is None:
        return 1
    # Not of rank 1, whose discount may be 1.
    beyond = last > options.k
    safe = tf.where(beyond, last, tf.constant(2, last.dtype))
    return tf.where(beyond, 1 / (1 - discounts(safe, options.discount)), tf.constant(1, last.dtype))


def _gains(lists: PairLists, options: PairOptions) -> tf.Tensor:
    """What a label counts; over the best DCG that the list allows, but for "dcg"."""
    if options.lambda_weight == "dcg":
        return absolute_gains(lists.labels, lists.mask, options.gain)
    gains = relative_gains(lists.labels, lists.mask, options.gain)
    rank_weights = rank_discounts(tf.shape(gains)[1], gains.dtype, options.k, options.discount)
    return tf.math.divide_no_nan(gains, ideal_dcg(gains, rank_weights)[:, tf.newaxis])


def _of_average_precision(relevant: tf.Tensor, ranks: tf.Tensor, order: tf.Tensor, k: int | None) -> DeltaFeatures:
    """With c the relevant items up to a rank r and H the sum of 1 / r over them: H - c / r, and H - (c + 1) / r.

    A relevant item that changes places with an irrelevant one behind it loses its own precision c / r and brings the
    other place's, and takes 1 / r from each relevant item between. Places after `k` count nothing.
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
