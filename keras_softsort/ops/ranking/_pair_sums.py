"""The costs of all pairs of a list, summed with their gradient tile by tile, so that all pairs are never stored."""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.core.axes import ceil_division, list_size
from keras_softsort.ops.core.order import descending, inverse, take
from keras_softsort.ops.core.target import compares_pairs
from keras_softsort.ops.core.temperature import pair_scores, within_range
from keras_softsort.ops.ranking._checks import TAU, Held, Rule
from keras_softsort.ops.ranking._noise import Noise, mean_over_samples
from keras_softsort.ops.ranking._pair_costs import COSTS
from keras_softsort.ops.ranking.lambda_weights import (
    DeltaFeatures,
    LambdaOptions,
    checked_lambda_weight,
    delta_features,
    pair_weights,
)
from keras_softsort.ops.ranking.lists import Derivatives, RankingArguments, RankingLists, per_list, ranking_arguments

# Lists of up to this many items are one tile of all pairs in the order of the list. Longer ones are sorted, so that
# about half of the tiles hold no pair.
SHORT_SIZE = 128
# The pairs of a tile, 16 MB in float32, and the smallest number of blocks into which a long list is cut. With b blocks
# the tiles hold (1 + 1 / b) / 2 of all pairs of items.
TILE_PAIRS, MIN_BLOCKS = 2**22, 5
# The pairs of one tile where pairs are compared, since XLA stores few of them there. An H200 takes 5 to 8 times as long
# for a loop over smaller tiles, at 256 lists of 200 items and 8 lists of 1,000.
LARGEST_TILE = 2**26


class PairOptions(NamedTuple):
    """The static options of a pairwise loss."""

    cost: str
    lambda_weight: LambdaOptions | None = None
    normalization: str = "auto"
    ties: str = "ignore"
    orders: int = 1  # 2 for second derivatives, too

    def is_mean(self) -> bool:
        """Whether the sum over the pairs is divided by their number."""
        return self.normalization == "pairs" or (self.normalization == "auto" and self.lambda_weight is None)

    def counts_pairs(self) -> bool:
        """Whether this number depends on the labels."""
        return self.is_mean() and self.ties == "ignore"


# The checks of the options that pairwise losses share.
PAIR_CHECKS: dict[str, Rule | Held] = {
    "lambda_weight": checked_lambda_weight,
    "normalization": arguments.choice("auto", "list", "none", "pairs"),
    "tau": TAU,
}


def pair_arguments(scores: Any, labels: Any, mask: Any, weights: Any, tau: Any) -> RankingArguments:
    """Check the arguments that pairwise losses share."""
    return ranking_arguments(scores, labels, mask, weights, tau=tau, non_negative_weights=True)


def _have_pairs(scores: tf.Tensor, labels: tf.Tensor, options: PairOptions, *_: Any) -> tf.Tensor:
    """Whether pairs with items [B, n] have a cost. Labels may be infinite where only their order counts."""
    readable = tf.logical_and(tf.math.is_finite(scores), tf.logical_not(tf.math.is_nan(labels)))
    weight = options.lambda_weight
    if weight is not None and weight.needs_gain():
        readable = tf.logical_and(readable, labels >= 0)
    if options.cost == "squared" or (weight is not None and weight.metric == "label_diff"):
        readable = tf.logical_and(readable, tf.math.is_finite(labels))
    return readable


@per_list(_have_pairs)
def pair_losses(lists: RankingLists, options: PairOptions, noise: Noise | None = None) -> tf.Tensor:
    """The loss of each list [B], or its mean over samples with noise."""
    return _losses(lists, options) if noise is None else mean_over_samples(lists, noise, _losses, options)


def _losses(lists: RankingLists, options: PairOptions) -> tf.Tensor:
    """The loss of each list [B] with a gradient in closed form; the scores are divided by `tau`."""
    if lists.weights is not None:
        # Op by op, TensorFlow would differentiate what a custom gradient captures, and in a graph it would not.
        lists = lists._replace(weights=tf.stop_gradient(lists.weights))

    @tf.custom_gradient
    def losses(scores: tf.Tensor, tau: tf.Tensor) -> tuple:
        scaled = within_range(pair_scores(scores, lists.mask, tau))
        found, (slopes,) = _pair_sums(scaled, lists, options)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            of_scores = upstream[:, tf.newaxis] * slopes / tau
            by_tau = -scaled * of_scores
            of_tau = tf.reduce_sum(by_tau, axis=1, keepdims=True) if tau.shape.rank else tf.reduce_sum(by_tau)
            return of_scores, of_tau

        return found, gradient

    return losses(lists.scores, lists.tau)


@per_list(_have_pairs)
def pair_derivatives(lists: RankingLists, options: PairOptions) -> Derivatives:
    """The derivatives of `pair_losses`. Lambda weights are constants."""
    scaled, scale = within_range(pair_scores(lists.scores, lists.mask, lists.tau)), 1 / lists.tau
    _, (slopes, curvatures) = _pair_sums(scaled, lists, options._replace(orders=2))
    return Derivatives(scale * slopes, tf.square(scale) * curvatures)


@per_list(_have_pairs)
def pair_lambdas(lists: RankingLists, options: PairOptions) -> tf.Tensor:
    """The gradient [B, n] of the sum of the costs of each list, as a constant."""
    scaled = within_range(pair_scores(lists.scores, lists.mask, lists.tau))
    _, (slopes,) = _pair_sums(scaled, lists, options._replace(normalization="none"))
    return tf.stop_gradient(slopes / lists.tau)


class Items(NamedTuple):
    """Items `[B, m]`."""

    scores: tf.Tensor
    # The labels of an item that is the more relevant one of a pair, and of one that is the less relevant one. Below all
    # others where masked, and above all others, so that no pair is found.
    labels: tf.Tensor
    labels_of_less: tf.Tensor
    weights: tf.Tensor | tuple[()]  # () for 1
    positions: tf.Tensor | tuple[()]  # [1, m]: which of two tied items comes first
    features: DeltaFeatures | tuple[()]


class Sums(NamedTuple):
    """Sums over the pairs of lists."""

    costs: tf.Tensor  # [B]
    counts: tf.Tensor  # [B]: the number of pairs, or 0 if `counts_pairs` is False
    derivatives: tuple[tf.Tensor, ...]  # of each order with respect to the scores: [B, n]


def _pair_sums(scores: tf.Tensor, lists: RankingLists, options: PairOptions) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """The losses [B] of lists, whose `scores` [B, n] are already divided by the temperature and `within_range`.

    Returns also a list of their gradient [B, n] and, for two orders, the diagonal of their hessian [B, n].
    """

    def one_tile() -> Sums:
        items = _items(scores, lists, options)
        sums, of_columns = _tile(items, items, options)
        return sums._replace(derivatives=tuple(map(tf.add, sums.derivatives, of_columns)))

    def tiles() -> Sums:
        return _sorted_tiles(_items(scores, lists._replace(mask=lists.valid()), options), options)

    batch, size = scores.shape
    if size is None:
        sums = tf.cond(is_one_tile(tf.shape(scores)), one_tile, tiles)
    else:
        short, pairs = (size, LARGEST_TILE) if compares_pairs(size) else (SHORT_SIZE, TILE_PAIRS)
        sums = one_tile() if size <= short and (batch or 1) * size * size <= pairs else tiles()
    if options.is_mean():
        divisors = tf.maximum(sums.counts if options.counts_pairs() else _number_of_pairs(lists.sizes()), 1)
    elif options.normalization == "list":
        divisors = lists.sizes()
    else:
        return sums.costs, [*sums.derivatives]
    return sums.costs / divisors, [each / divisors[:, tf.newaxis] for each in sums.derivatives]


def _number_of_pairs(sizes: tf.Tensor) -> tf.Tensor:
    return sizes * (sizes - 1) / 2


def is_one_tile(shape: tf.Tensor) -> tf.Tensor:
    """Whether lists of this shape (B, n) are short, and few enough for one tile of all their pairs."""
    batch, size = tf.unstack(tf.cast(shape, tf.int64))  # many lists have more pairs than int32 can count
    return tf.logical_and(size <= SHORT_SIZE, batch * size * size <= TILE_PAIRS)


def _items(scores: tf.Tensor, lists: RankingLists, options: PairOptions) -> Items:
    labels = labels_of_less = lists.labels
    if lists.mask is not None:
        beyond = scores.dtype.max / 4
        labels = tf.clip_by_value(lists.labels, -beyond / 2, beyond / 2)  # they may be infinite
        labels, labels_of_less = (tf.where(lists.mask, labels, marker) for marker in (-beyond, beyond))
    return Items(
        scores=scores,
        labels=labels,
        labels_of_less=labels_of_less,
        weights=() if lists.weights is None else lists.weights,
        positions=tf.range(list_size(scores))[tf.newaxis, :] if options.ties == "half" else (),
        features=() if options.lambda_weight is None else delta_features(lists, options.lambda_weight),
    )


def _sorted_tiles(items: Items, options: PairOptions) -> Sums:
    """The sums over all pairs, with the memory of one tile: items sorted by descending labels and cut into blocks."""
    _, order = descending(items.labels)
    ordered = tf.nest.map_structure(lambda part: take(part, order), items._replace(positions=()))
    items = ordered._replace(positions=items.positions)
    batch, size = tf.unstack(tf.shape(items.scores))
    largest = tf.cast(tf.sqrt(tf.cast(TILE_PAIRS, tf.float32) / tf.cast(tf.maximum(batch, 1), tf.float32)), tf.int32)
    width = tf.maximum(1, tf.minimum(largest, ceil_division(size, MIN_BLOCKS)))
    blocks = ceil_division(size, width)

    def cut(part: tf.Tensor, filler: Any = 0) -> tf.Tensor:
        """Blocks [blocks, B or 1, width] of `part` [B or 1, n]."""
        padded = tf.pad(part, [[0, 0], [0, blocks * width - size]], constant_values=filler)
        return tf.transpose(tf.reshape(padded, [tf.shape(part)[0], blocks, width]), [1, 0, 2])

    parts = tf.nest.map_structure(cut, items)
    beyond = items.scores.dtype.max / 4
    parts = parts._replace(labels=cut(items.labels, -beyond), labels_of_less=cut(items.labels_of_less, beyond))

    def add(row: tf.Tensor, column: tf.Tensor, costs: tf.Tensor, counts: tf.Tensor, *found: tf.Tensor) -> tuple:
        rows, columns = (tf.nest.map_structure(lambda part, at=at: part[at], parts) for at in (row, column))
        sums, of_columns = _tile(rows, columns, options)
        found = tuple(
            tf.tensor_scatter_nd_add(each, [[row], [column]], tf.stack(more))
            for each, *more in zip(found, sums.derivatives, of_columns, strict=True)
        )
        is_last = tf.equal(column, blocks - 1)
        row = tf.where(is_last, row + 1, row)
        column = tf.where(is_last, row, column + 1)
        return row, column, costs + sums.costs, counts + sums.counts, *found

    nothing = tf.reduce_sum(tf.zeros_like(items.scores), axis=1)
    state = (0, 0, nothing, nothing, *[tf.zeros_like(parts.scores)] * options.orders)
    _, _, costs, counts, *found = tf.while_loop(lambda row, *_: row < blocks, add, state, parallel_iterations=1)
    ranks = inverse(order)

    def joined(found: tf.Tensor) -> tf.Tensor:
        """The derivatives [B, n] in the order of the list, from blocks."""
        ordered = tf.reshape(tf.transpose(found, [1, 0, 2]), [batch, blocks * width])
        return take(ordered[:, :size], ranks)

    return Sums(costs, counts, tuple(map(joined, found)))


def _tile(rows: Items, columns: Items, options: PairOptions) -> tuple[Sums, tuple[tf.Tensor, ...]]:
    """Sum over the pairs of a row item with a column item of a smaller label, or a later one of the same label.

    Returns the sums with the derivatives with respect to the scores of the row items, and those of the column items.
    """
    one = rows._replace(labels_of_less=())
    other = columns._replace(labels=())
    one, other = (
        tf.nest.map_structure(lambda part, axis=axis: tf.expand_dims(part, axis), items)
        for items, axis in ((one, 2), (other, 1))
    )
    lead = other.scores - one.scores
    pairs, tied, gap = one.labels > other.labels_of_less, None, 0
    if options.ties == "half":
        tied = tf.logical_and(tf.equal(one.labels, other.labels_of_less), one.positions < other.positions)
    if options.cost == "squared":
        pairs = tf.logical_or(pairs, tied)
        # The square of a difference between items that are not a pair may be infinite.
        lead, gap = (tf.where(pairs, each, 0) for each in (lead, one.labels - other.labels_of_less))
    units = tf.cast(pairs, lead.dtype)
    weights = _chosen(pairs, units, _mean_weights(one, other) if options.cost == "squared" else one.weights)
    if options.lambda_weight is not None:
        weights *= pair_weights(options.lambda_weight, one.features, other.features)
    of_lead = [*islice(COSTS[options.cost](lead, gap), 1 + options.orders)]
    sums = [weights * each for each in of_lead]
    # Swapping tied items changes no metric.
    if options.cost == "logistic" and tied is not None and options.lambda_weight is None:
        weights = _chosen(tied, tf.cast(tied, lead.dtype), _mean_weights(one, other))
        costs, slopes, *curvatures = of_lead
        of_ties = (costs - lead / 2, slopes - 0.5, *curvatures)
        sums = [total + weights * each for total, each in zip(sums, of_ties, strict=True)]
    costs, *derivatives = sums
    of_rows = [tf.reduce_sum(each, axis=2) for each in derivatives]
    of_rows[0] = -of_rows[0]  # the score of the row item is subtracted
    costs = tf.reduce_sum(costs, axis=[1, 2])
    counts = tf.reduce_sum(units, axis=[1, 2]) if options.counts_pairs() else tf.zeros_like(costs)
    return Sums(costs, counts, tuple(of_rows)), tuple(tf.reduce_sum(each, axis=1) for each in derivatives)


def _chosen(pairs: tf.Tensor, units: tf.Tensor, weights: tf.Tensor | tuple[()]) -> tf.Tensor:
    """The weights of `pairs`, and 0 for other entries. `units` are the numbers for weights of 1."""
    return tf.where(pairs, weights, 0) if tf.is_tensor(weights) else units


def _mean_weights(one: Items, other: Items) -> tf.Tensor | tuple[()]:
    """The mean weights of two items, () for 1."""
    return () if isinstance(one.weights, tuple) else (one.weights + other.weights) / 2
