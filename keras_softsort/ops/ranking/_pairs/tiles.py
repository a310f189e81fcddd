"""The sums over a tile of pairs: rows of items against columns of items, both sorted by descending labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops.ranking._pairs.arguments import PairOptions
from keras_softsort.ops.ranking._pairs.costs import COSTS
from keras_softsort.ops.ranking._pairs.lambda_weights import DeltaFeatures, pair_weights

# If the scores of a list, times sigma, are no further apart than this, a product of `FACTORS_PER_LOG` terms
# 1 + exp(s_j - s_i) does not overflow float32: exp(20 * 4) is 6e34.
MAX_SCORE_RANGE = 20.0
FACTORS_PER_LOG = 4


class Items(NamedTuple):
    """Items `[B, m]` sorted by descending labels, with padding last."""

    scores: tf.Tensor  # times sigma
    labels: Any  # a tensor, NaN where masked, so that comparisons are False; None if the gains tell the pairs
    weights: Any  # a tensor, or None for 1
    positions: tf.Tensor  # [1, m]: positions in this order
    features: DeltaFeatures | tuple[()]


class TileSums(NamedTuple):
    """Sums over the pairs of a tile."""

    losses: tf.Tensor  # [B]
    rows: tf.Tensor  # [B, rows]: minus the gradient of the row items
    columns: tf.Tensor  # [B, columns]: the gradient of the column items


def product_form_tile(rows: Items, columns: Items) -> TileSums:
    """Sum over strict pairs without lambda weights, for lists with a narrow range of scores around 0.

    exp(s_j - s_i) is a product of a row factor and a column factor, and one logarithm serves `FACTORS_PER_LOG` pairs.
    The columns are split before pairs are formed, since splitting a tile would copy it.
    """
    against, labels, weights = (part[:, :, tf.newaxis] for part in (tf.exp(-rows.scores), rows.labels, rows.weights))
    odds = [
        against * for_it[:, tf.newaxis, :] * tf.cast(labels > label[:, tf.newaxis, :], against.dtype)
        for for_it, label in zip(
            *(tf.split(part, FACTORS_PER_LOG, axis=1) for part in (tf.exp(columns.scores), columns.labels)), strict=True
        )
    ]
    slopes = [weights * (each / (1 + each)) for each in odds]
    return TileSums(
        tf.reduce_sum(rows.weights * tf.reduce_sum(_log1p_of_all(odds), axis=2), axis=1),
        tf.add_n([tf.reduce_sum(each, axis=2) for each in slopes]),
        tf.concat([tf.reduce_sum(each, axis=1) for each in slopes], axis=1),
    )


def square_product_form_tile(rows: Items, columns: Items) -> tuple[tf.Tensor, tf.Tensor]:
    """The losses [B] and the gradient [B, m] of items that are in any order, as `columns` and, padded, as `rows`.

    Each pair is met twice, and counts for the item of its column: XLA sums over rows faster than over columns.
    """
    ahead, labels, weights = (
        part[:, tf.newaxis, :] for part in (tf.exp(-columns.scores), columns.labels, columns.weights)
    )
    odds, gradient = [], tf.zeros_like(columns.scores)
    for own, *parts in zip(
        *(tf.split(part, FACTORS_PER_LOG, axis=1) for part in (tf.exp(rows.scores), rows.labels, rows.weights)),
        strict=True,
    ):
        label, weight = (part[:, :, tf.newaxis] for part in parts)
        ratio = own[:, :, tf.newaxis] * ahead
        share = 1 / (1 + ratio)
        below = labels > label
        slopes = tf.where(below, -weights * ratio, tf.where(labels < label, weight, 0)) * share
        gradient += tf.reduce_sum(slopes, axis=1)
        odds.append(tf.where(below, ratio, tf.zeros_like(ratio)))
    costs = columns.weights * tf.reduce_sum(_log1p_of_all(odds), axis=1)
    return tf.reduce_sum(costs, axis=1), gradient


def _log1p_of_all(values: list[tf.Tensor]) -> tf.Tensor:
    """The sum of log(1 + x) over `values`, computed as log(1 + y) with a y that keeps the precision of small x."""
    while len(values) > 1:
        values = [one + other + one * other for one, other in zip(values[::2], values[1::2], strict=True)]
    return tf.math.log1p(values[0])


def general_tile(options: PairOptions, rows: Items, columns: Items) -> TileSums:
    """Sum over pairs with any scores and weights. Here items need not be sorted."""
    one, other = (
        tf.nest.map_structure(lambda part, axis=axis: None if part is None else tf.expand_dims(part, axis), items)
        for items, axis in ((rows, 2), (columns, 1))
    )
    lead, zero = other.scores - one.scores, tf.constant(0, rows.scores.dtype)
    if options.cost == "squared":
        # All pairs, including those of equal labels. Labels are NaN where masked, so comparisons are False.
        tied = tf.logical_and(tf.equal(one.labels, other.labels), one.positions < other.positions)
        pairs = tf.logical_or(one.labels > other.labels, tied)
        gap = tf.where(pairs, one.labels - other.labels, zero)
        weights = _mean_weights(pairs, one, other)
    else:
        gap, weights = zero, _of_strict_pairs(one, other)
    costs, derivatives = COSTS[options.cost](lead, gap)
    if one.features:
        changes = pair_weights(options, one.features, other.features)
        weights = changes if weights is None else weights * changes
        # Swapping tied items changes no metric, so their weight is 0.
    terms, slopes = weights * costs, weights * derivatives
    if options.cost == "logistic" and options.ties == "half" and not one.features:
        tied = tf.logical_and(tf.equal(one.labels, other.labels), one.positions < other.positions)
        weights = _mean_weights(tied, one, other)
        terms += weights * (costs - lead / 2)
        slopes += weights * (derivatives - 0.5)
    return TileSums(tf.reduce_sum(terms, axis=[1, 2]), tf.reduce_sum(slopes, axis=2), tf.reduce_sum(slopes, axis=1))


def _of_strict_pairs(one: Items, other: Items) -> tf.Tensor | None:
    """The weights of pairs by their labels, 0 for those that are none; None for 1."""
    if one.labels is None:
        return one.weights
    pairs, dtype = one.labels > other.labels, one.scores.dtype
    return tf.cast(pairs, dtype) if one.weights is None else tf.where(pairs, one.weights, tf.constant(0, dtype))


def _mean_weights(pairs: tf.Tensor, one: Items, other: Items) -> tf.Tensor:
    """The mean weights of the items of `pairs`, and 0 for what is no pair."""
    dtype = one.scores.dtype
    if one.weights is None:
        return tf.cast(pairs, dtype)
    return tf.where(pairs, (one.weights + other.weights) / 2, tf.constant(0, dtype))
