"""The losses of all pairs of a list, with gradients in closed form, so that all pairs are never stored."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.axes import ceil_division, list_size
from keras_softsort.ops.core.order import descending, inverse, take
from keras_softsort.ops.core.temperature import pair_scores, within_range
from keras_softsort.ops.core.tracing import compares_pairs
from keras_softsort.ops.ranking.lambda_weights import DeltaFeatures, LambdaOptions, delta_features, pair_weights
from keras_softsort.ops.ranking.lists import RankingLists

# Lists of up to this many items are one tile of all pairs in the order of the list. Longer ones are sorted, so that
# about half of the tiles hold no pair.
SHORT_SIZE = 128
# The pairs of one tile where pairs are compared, since XLA stores few of them there.
MAX_COMPARED_PAIRS = 2**26
# The pairs of a tile of long lists, 16 MB in float32, and the smallest number of blocks into which a list is cut. With
# b blocks the tiles hold (1 + 1 / b) / 2 of all pairs of items.
TILE_PAIRS, MIN_BLOCKS = 2**22, 5


class Cost(NamedTuple):
    """The cost of a pair with label_i >= label_j, and its derivatives with respect to the lead.

    Each is a function of the lead `s_j - s_i` and of the gap `label_i - label_j`.
    """

    value: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
    slope: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
    curvature: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


COSTS = {
    "hinge": Cost(
        lambda lead, _: tf.nn.relu(1 + lead),
        lambda lead, _: tf.cast(1 + lead > 0, lead.dtype),  # at the kink 0, as TensorFlow's
        lambda lead, _: tf.zeros_like(lead),
    ),
    "logistic": Cost(
        lambda lead, _: tf.nn.softplus(lead),
        lambda lead, _: tf.sigmoid(lead),
        lambda lead, _: tf.sigmoid(lead) * tf.sigmoid(-lead),
    ),
    "soft_zero_one": Cost(
        lambda lead, _: tf.sigmoid(lead),
        lambda lead, _: tf.sigmoid(lead) * tf.sigmoid(-lead),
        lambda lead, _: tf.sigmoid(lead) * tf.sigmoid(-lead) * (1 - 2 * tf.sigmoid(lead)),
    ),
    "squared": Cost(
        lambda lead, gap: tf.square(gap + lead),
        lambda lead, gap: 2 * (gap + lead),
        lambda lead, _: 2 * tf.ones_like(lead),
    ),
}


class PairOptions(NamedTuple):
    """The static options of a pairwise loss."""

    cost: str
    lambda_weight: LambdaOptions | None
    normalization: str
    ties: str

    def is_mean(self) -> bool:
        """Whether the sum over the pairs is divided by their number."""
        return self.normalization == "pairs" or (self.normalization == "auto" and self.lambda_weight is None)

    def counts_pairs(self) -> bool:
        """Whether this number depends on the labels."""
        return self.is_mean() and self.ties == "ignore"


class Items(NamedTuple):
    """Items `[B, m]`. All labels of masked items are such that they are in no pair."""

    scores: tf.Tensor  # in temperatures
    labels: tf.Tensor  # of an item that is the more relevant one of a pair
    labels_of_less: tf.Tensor  # of an item that is the less relevant one of a pair
    weights: tf.Tensor | tuple[()]  # () for 1
    positions: tf.Tensor | tuple[()]  # [1, m]: which of two tied items comes first
    features: DeltaFeatures | tuple[()]


class Sums(NamedTuple):
    """Sums over the pairs of lists."""

    costs: tf.Tensor  # [B]
    counts: tf.Tensor  # [B]: the number of pairs, or 0 if `counts_pairs` is False
    derivatives: list[tf.Tensor]  # of each order with respect to the scores: [B, n]


def pair_losses(
    lists: RankingLists, cost: str, lambda_weight: Any = None, normalization: str = "auto", ties: str = "ignore"
) -> tf.Tensor:
    """The loss of each list [B]. `lambda_weight` is None or `LambdaOptions`."""
    options = PairOptions(cost, lambda_weight, normalization, ties)
    items = _items(lists, options)

    @tf.custom_gradient
    def losses(scores: tf.Tensor, tau: tf.Tensor) -> tuple:
        scaled = within_range(pair_scores(scores, lists.mask, tau))
        losses, slopes = _pair_sums(items._replace(scores=scaled), lists, options)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            of_scores = upstream[:, tf.newaxis] * slopes / tau
            by_tau = -scaled * of_scores
            of_tau = tf.reduce_sum(by_tau, axis=1, keepdims=True) if tau.shape.rank else tf.reduce_sum(by_tau)
            return of_scores, of_tau

        return losses, gradient

    return losses(lists.scores, lists.tau)


def pair_derivatives(
    lists: RankingLists, cost: str, lambda_weight: Any, normalization: str, ties: str = "ignore", *, orders: int = 2
) -> list[tf.Tensor]:
    """The derivatives [B, n] of `pair_losses` with respect to the scores, up to so many orders.

    Lambda weights are constants.
    """
    options = PairOptions(cost, lambda_weight, normalization, ties)
    scaled, scale = within_range(pair_scores(lists.scores, lists.mask, lists.tau)), 1 / lists.tau
    _, *derivatives = _pair_sums(_items(lists, options)._replace(scores=scaled), lists, options, orders)
    return [tf.pow(scale, order) * each for order, each in enumerate(derivatives, start=1)]


def _items(lists: RankingLists, options: PairOptions) -> Items:
    """The items as constants: op by op, TensorFlow would differentiate what a custom gradient captures."""
    labels = labels_of_less = lists.labels
    mask = lists.mask if _is_one_tile(lists.scores.shape) else lists.valid()
    if mask is not None:
        beyond = _beyond_labels(labels.dtype)
        labels = tf.clip_by_value(labels, -beyond / 2, beyond / 2)  # they may be infinite
        labels, labels_of_less = (tf.where(mask, labels, marker) for marker in (-beyond, beyond))
    weight = options.lambda_weight
    return Items(
        scores=lists.scores,
        labels=labels,
        labels_of_less=labels_of_less,
        weights=() if lists.weights is None else tf.stop_gradient(lists.weights),
        positions=tf.range(list_size(labels))[tf.newaxis, :] if options.ties == "half" else (),
        features=() if weight is None else tf.nest.map_structure(tf.stop_gradient, delta_features(lists, weight)),
    )


def _pair_sums(items: Items, lists: RankingLists, options: PairOptions, orders: int = 1) -> list[tf.Tensor]:
    """The losses [B] of lists of `items`, and their derivatives [B, n] with respect to scores in temperatures."""
    is_one = _is_one_tile(items.scores.shape)
    one_tile = functools.partial(_one_tile, items, options, orders)
    sorted_tiles = functools.partial(_sorted_tiles, items, options, orders)
    if is_one is None:
        sums = tf.cond(is_one_tile(tf.shape(items.scores)), one_tile, sorted_tiles)
    else:
        sums = one_tile() if is_one else sorted_tiles()
    if options.is_mean():
        sizes = lists.sizes()
        divisors = tf.maximum(sums.counts if options.counts_pairs() else sizes * (sizes - 1) / 2, 1)
    elif options.normalization == "list":
        divisors = lists.sizes()
    else:
        return [sums.costs, *sums.derivatives]
    return [sums.costs / divisors, *(each / divisors[:, tf.newaxis] for each in sums.derivatives)]


def _is_one_tile(shape: tf.TensorShape) -> bool | None:
    """Whether all pairs of lists of this shape are one tile; None if the list size is unknown."""
    batch, size = shape
    if size is None:
        return None
    is_short, pairs = (True, MAX_COMPARED_PAIRS) if compares_pairs(size) else (size <= SHORT_SIZE, TILE_PAIRS)
    return is_short and (batch or 1) * size * size <= pairs


def is_one_tile(shape: tf.Tensor) -> tf.Tensor:
    """Whether all pairs of lists of this shape (B, n) are one tile, in a graph for unknown list sizes."""
    batch, size = tf.unstack(tf.cast(shape, tf.int64))  # many lists have more pairs than int32 can count
    return tf.logical_and(size <= SHORT_SIZE, batch * size * size <= TILE_PAIRS)


def _one_tile(items: Items, options: PairOptions, orders: int) -> Sums:
    """Sum over all pairs at once, with the derivatives up to so many `orders`."""
    sums, of_columns = _tile(items, items, options, orders)
    return sums._replace(derivatives=[*map(tf.add, sums.derivatives, of_columns)])


def _sorted_tiles(items: Items, options: PairOptions, orders: int) -> Sums:
    """Sum over all pairs with the memory of one tile: items sorted by descending labels and cut into blocks."""
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
    beyond = _beyond_labels(items.scores.dtype)
    parts = parts._replace(labels=cut(items.labels, -beyond), labels_of_less=cut(items.labels_of_less, beyond))

    def add(row: tf.Tensor, column: tf.Tensor, costs: tf.Tensor, counts: tf.Tensor, *totals: tf.Tensor) -> tuple:
        rows, columns = (tf.nest.map_structure(lambda part, at=at: part[at], parts) for at in (row, column))
        sums, of_columns = _tile(rows, columns, options, orders)
        totals = tuple(
            tf.tensor_scatter_nd_add(each, [[row], [column]], tf.stack(more))
            for each, *more in zip(totals, sums.derivatives, of_columns, strict=True)
        )
        is_last = tf.equal(column, blocks - 1)
        row = tf.where(is_last, row + 1, row)
        column = tf.where(is_last, row, column + 1)
        return row, column, costs + sums.costs, counts + sums.counts, *totals

    nothing = tf.reduce_sum(tf.zeros_like(items.scores), axis=1)
    state = (0, 0, nothing, nothing, *[tf.zeros_like(parts.scores)] * orders)
    _, _, costs, counts, *totals = tf.while_loop(lambda row, *_: row < blocks, add, state, parallel_iterations=1)
    ranks = inverse(order)

    def joined(total: tf.Tensor) -> tf.Tensor:
        """The derivatives [B, n] in the order of the list, from blocks."""
        ordered = tf.reshape(tf.transpose(total, [1, 0, 2]), [batch, blocks * width])
        return take(ordered[:, :size], ranks)

    return Sums(costs, counts, [*map(joined, totals)])


def _beyond_labels(dtype: tf.DType) -> float:
    """A number above all labels of pairs, which are clipped to half of it."""
    return dtype.max / 4


def _tile(rows: Items, columns: Items, options: PairOptions, orders: int) -> tuple[Sums, list[tf.Tensor]]:
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
    of_lead = [each(lead, gap) for each in COSTS[options.cost][: 1 + orders]]
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
    return Sums(costs, counts, of_rows), [tf.reduce_sum(each, axis=1) for each in derivatives]


def _chosen(pairs: tf.Tensor, units: tf.Tensor, weights: tf.Tensor | tuple[()]) -> tf.Tensor:
    """The weights of `pairs`, and 0 for other entries. `units` are the numbers for weights of 1."""
    return tf.where(pairs, weights, 0) if tf.is_tensor(weights) else units


def _mean_weights(one: Items, other: Items) -> tf.Tensor | tuple[()]:
    """The mean weights of two items, () for 1."""
    return () if isinstance(one.weights, tuple) else (one.weights + other.weights) / 2
