"""RankNet's loss and lambdas in one pass over blocks of pairs.

Items are sorted by descending labels, so that only pairs of an item with a later one count. A block of rows therefore
has the columns from its first row on. Only sums over pairs are stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.lists import descending, inverse, plus_zeros, take, tied_ranks
from keras_softsort.ops._core.thresholds import is_at_most
from keras_softsort.ops._core.tracing import is_compiled
from keras_softsort.ops.ranking._pairs.arguments import PairLists, PairOptions
from keras_softsort.ops.ranking._pairs.lambda_weights import delta_features, gains_rise
from keras_softsort.ops.ranking._pairs.tiles import (
    FACTORS_PER_LOG,
    MAX_SCORE_RANGE,
    Items,
    TileSums,
    general_tile,
    product_form_tile,
    square_product_form_tile,
)

# Pairs of a tile: 16 MB in float32. Lists of up to `SINGLE_TILE_MAX_SIZE` items are one tile if that is no larger.
# Otherwise up to `MAX_UNROLLED_BLOCKS` blocks are unrolled, each with the columns from its first row on; more run
# in a loop, with all columns. Without XLA the loop takes twice the time. With XLA it takes the same time, a tenth of
# the compile time and an eighth of the memory.
TILE_PAIRS = 2**22
SINGLE_TILE_MAX_SIZE = 128
# Up to this many items a logarithm of each pair costs less than the products that would save three of four: under XLA,
# and without it, where each operation takes a pass over memory.
SHORT_COMPILED, SHORT = 32, 64
MIN_UNROLLED_BLOCKS, MAX_UNROLLED_BLOCKS = 5, 32
# XLA may compute up to this many blocks in parallel, with the memory of all of them.
MAX_PARALLEL_BLOCKS = 8
# The number of unrolled blocks for an unknown list size, and the number of pairs above which a loop is used.
DYNAMIC_SIZE_BLOCKS, UNKNOWN_PAIRS = 8, 2**25


class PairSums(NamedTuple):
    """Sums over the pairs of each list."""

    losses: tf.Tensor  # [B]: the weighted sum of the costs
    lambdas: tf.Tensor  # [B, n]: the gradient of the losses with respect to the scores
    counts: tf.Tensor  # [B]: the number of pairs


def eager_blocks(scores: tf.Tensor) -> int | None:
    """The number of unrolled blocks of rows for an eager call with `scores` [..., n], or 0 for a loop.

    Each choice has its own trace for all sizes. None in a traced function, whose sizes may be static.
    """
    if not tf.executing_eagerly():
        return None
    size = scores.shape[-1]
    if _is_one_tile(scores.shape.num_elements() // max(size, 1), size):
        return 1
    return DYNAMIC_SIZE_BLOCKS if scores.shape.num_elements() * size <= UNKNOWN_PAIRS else 0


def _is_one_tile(batch: int | None, size: int | None) -> bool:
    """Whether lists are so short that sorting them, to compute about half of all pairs, costs more than it saves."""
    return size is not None and size <= SINGLE_TILE_MAX_SIZE and (batch or 1) * size * size <= TILE_PAIRS


def pair_sums(lists: PairLists, options: PairOptions, blocks: int | None = None) -> PairSums:
    """Sum over all pairs of each list; NaN for a list with invalid numbers. `blocks` comes from `eager_blocks`."""
    if blocks == 1 or (blocks is None and _is_one_tile(*lists.scores.shape)):
        return _unsorted(lists, options)
    below_all = tf.constant(-math.inf, lists.labels.dtype)
    keys = tf.where(lists.mask, plus_zeros(lists.labels), below_all)
    keys, order = descending(keys)
    sizes = tf.reduce_sum(tf.cast(lists.mask, tf.int32), axis=-1)
    features = () if options.lambda_weight is None else delta_features(lists, options)
    scores, mask, weights, features = tf.nest.map_structure(
        lambda part: take(part, order), (lists.scores, lists.mask, _weights(lists), features)
    )
    # Centering the scores in their range keeps the exponentials small.
    middle, wide = _range(scores, mask)
    scores = options.sigma * tf.where(mask, scores - middle, tf.zeros_like(scores))
    positions = tf.range(tf.shape(keys)[1])[tf.newaxis, :]
    labels = tf.where(mask, keys, tf.constant(math.nan, keys.dtype))
    items = Items(scores, labels, weights, positions, features)

    def by_wide_tiles(is_fallback: bool) -> tuple[tf.Tensor, tf.Tensor]:
        def tile(rows: Items, columns: Items) -> TileSums:
            return general_tile(options, rows, columns)

        return _by_blocks(items, tile, blocks, is_fallback)

    if _has_product_form(options):
        too_wide = tf.reduce_any(wide * options.sigma > MAX_SCORE_RANGE)
        losses, slopes = tf.cond(
            too_wide, lambda: by_wide_tiles(is_fallback=True), lambda: _by_blocks(items, product_form_tile, blocks)
        )
    else:
        losses, slopes = by_wide_tiles(is_fallback=False)
    lambdas = options.sigma * take(slopes, inverse(order))
    lambdas = tf.where(lists.mask, lists.factors[:, tf.newaxis] * lambdas, tf.zeros_like(lambdas))
    return PairSums(lists.factors * losses, lambdas, _counts(keys, mask, sizes, options.ties))


def _unsorted(lists: PairLists, options: PairOptions) -> PairSums:
    """The same by one tile of the items in their own order."""
    labels = tf.where(lists.mask, lists.labels, tf.constant(math.nan, lists.labels.dtype))
    short = SHORT_COMPILED if is_compiled() else SHORT
    by_products = _has_product_form(options) and not is_at_most(labels.shape[1], short)
    losses, slopes = (_by_square if by_products else _by_all_pairs)(lists, labels, options)
    lambdas = (lists.factors * options.sigma)[:, tf.newaxis] * slopes
    lambdas = tf.where(lists.mask, lambdas, tf.zeros_like(lambdas))
    if options.ties == "half":
        counts = _all_pairs(tf.reduce_sum(lists.valid, axis=-1))
    else:
        # As `general_tile` compares them, so that TensorFlow does it once.
        pairs = tf.expand_dims(labels, 2) > tf.expand_dims(labels, 1)
        counts = tf.reduce_sum(tf.cast(pairs, labels.dtype), axis=[1, 2])
    return PairSums(lists.factors * losses, lambdas, counts)


def _by_all_pairs(lists: PairLists, labels: tf.Tensor, options: PairOptions) -> tuple[tf.Tensor, tf.Tensor]:
    """The losses [B] and gradients [B, n]; `labels` are NaN where masked."""
    # A number that all scores have in common would cost digits in a product, and overflow in a square.
    differs = options.sigma != 1 or options.cost == "squared"
    scores = _centered(lists, options)[0] if differs else lists.scores
    positions = tf.range(tf.shape(labels)[1])[tf.newaxis, :]
    if options.lambda_weight is None:
        rows = columns = Items(scores, labels, lists.weights, positions, ())
    else:
        features = delta_features(lists, options)
        rows = columns = Items(scores, labels, lists.weights, positions, features)
        if gains_rise(options) and options.cost != "squared":
            # No pair has a masked item: its gain is below all as that of a row, and above all as that of a column.
            infinity = tf.constant(math.inf, scores.dtype)
            low, high = (
                features._replace(gains=tf.where(lists.mask, features.gains, end)) for end in (-infinity, infinity)
            )
            rows, columns = (rows._replace(labels=None, features=each) for each in (low, high))
    sums = general_tile(options, rows, columns)
    return sums.losses, sums.columns - sums.rows


def _by_square(lists: PairLists, labels: tf.Tensor, options: PairOptions) -> tuple[tf.Tensor, tf.Tensor]:
    """The same by products of exponentials, unless scores are too far apart for them."""
    scores, wide = _centered(lists, options)
    size = tf.shape(labels)[1]
    items = Items(scores, labels, _weights(lists), tf.range(size)[tf.newaxis, :], ())
    return tf.cond(
        tf.reduce_any(wide > MAX_SCORE_RANGE),
        lambda: _by_all_pairs(lists, labels, options),
        lambda: square_product_form_tile(_padded(items, size + -size % FACTORS_PER_LOG), items),
    )


def _centered(lists: PairLists, options: PairOptions) -> tuple[tf.Tensor, tf.Tensor]:
    """The scores [B, n] less the middle of their list, and the width [B] of their range, both times sigma."""
    middle, wide = _range(lists.scores, lists.mask)
    scores = tf.where(lists.mask, lists.scores - middle, tf.zeros_like(middle))
    return options.sigma * scores, options.sigma * wide


def _weights(lists: PairLists) -> tf.Tensor:
    """The weights of the items [B, n]."""
    return lists.valid if lists.weights is None else lists.weights


def _has_product_form(options: PairOptions) -> bool:
    return options.cost == "logistic" and options.lambda_weight is None and options.ties == "ignore"


def _all_pairs(sizes: tf.Tensor) -> tf.Tensor:
    return sizes * (sizes - 1) / 2


def _range(scores: tf.Tensor, mask: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The middle `[B, 1]` and the width `[B]` of each list's scores."""
    infinity = tf.constant(math.inf, scores.dtype)
    highest = tf.reduce_max(tf.where(mask, scores, -infinity), axis=-1, keepdims=True)
    lowest = tf.reduce_min(tf.where(mask, scores, infinity), axis=-1, keepdims=True)
    empty = highest < lowest
    middle = tf.where(empty, tf.zeros_like(lowest), lowest / 2 + highest / 2)
    return middle, tf.where(empty, tf.zeros_like(lowest), highest - lowest)[:, 0]


def _counts(keys: tf.Tensor, mask: tf.Tensor, sizes: tf.Tensor, ties: str) -> tf.Tensor:
    """The number of pairs of each list, from its sorted labels."""
    if ties == "half":
        return _all_pairs(tf.cast(sizes, keys.dtype))
    later = sizes[:, tf.newaxis] - 1 - tied_ranks(keys, may_search=True)[1]
    return tf.reduce_sum(tf.where(mask, tf.cast(later, keys.dtype), tf.zeros_like(keys)), axis=-1)


Tile = Callable[[Items, Items], TileSums]


def _by_blocks(
    items: Items, tile: Tile, blocks: int | None = None, is_fallback: bool = False
) -> tuple[tf.Tensor, tf.Tensor]:
    """The losses [B] and the gradients [B, n] of all items; with `is_fallback` few blocks are unrolled."""
    if blocks is not None:
        return _unrolled(items, tile, blocks) if blocks else _looped(items, tile)
    batch, size = items.labels.shape
    if size is None:
        pairs = tf.size(items.labels) * tf.shape(items.labels)[1]
        return tf.cond(
            pairs <= UNKNOWN_PAIRS,
            lambda: _unrolled(items, tile, DYNAMIC_SIZE_BLOCKS),
            lambda: _looped(items, tile),
        )
    blocks = max(MIN_UNROLLED_BLOCKS, math.ceil((batch or 1) * size * size / TILE_PAIRS))
    if blocks > (MAX_PARALLEL_BLOCKS if is_fallback else MAX_UNROLLED_BLOCKS):
        return _looped(items, tile)
    return _unrolled(items, tile, blocks)


def _unrolled(items: Items, tile: Tile, blocks: int) -> tuple[tf.Tensor, tf.Tensor]:
    size = items.labels.shape[1] or tf.shape(items.labels)[1]
    height = FACTORS_PER_LOG * -(-size // (FACTORS_PER_LOG * blocks))
    items = _padded(items, height * blocks)
    losses, column_gradients = tf.reduce_sum(tf.zeros_like(items.scores), axis=1), tf.zeros_like(items.scores)
    row_gradients: list[tf.Tensor] = []
    for block in range(blocks):
        start = block * height
        # Compute one tile after another, so that they are not in memory at once.
        with tf.control_dependencies([losses, column_gradients, *row_gradients[-1:]]):
            columns = tf.nest.map_structure(lambda part, start=start: tf.identity(part[:, start:]), items)
        rows = tf.nest.map_structure(lambda part: part[:, :height], columns)
        sums = tile(rows, columns)
        losses += sums.losses
        row_gradients.append(sums.rows)
        column_gradients += tf.pad(sums.columns, [[0, 0], [start, 0]])
        if blocks > MAX_PARALLEL_BLOCKS:
            items = items._replace(scores=_after(sums, items.scores))
    return losses, (column_gradients - tf.concat(row_gradients, axis=1))[:, :size]


def _after(sums: TileSums, values: tf.Tensor) -> tf.Tensor:
    """Return `values` with a dependency on a finished tile, since XLA ignores control dependencies.

    XLA cannot tell that the added number, a comparison with the lowest number, is always 0.
    """
    total = tf.add_n([tf.reduce_sum(part) for part in sums])
    return values + tf.cast(total < total.dtype.min, values.dtype)


def _looped(items: Items, tile: Tile) -> tuple[tf.Tensor, tf.Tensor]:
    """Blocks of rows against all columns, in memory that does not grow with the square of the list size."""
    batch, size = tf.unstack(tf.shape(items.labels))
    height = FACTORS_PER_LOG * tf.maximum(1, TILE_PAIRS // (FACTORS_PER_LOG * tf.maximum(batch * size, 1)))
    blocks = -(-size // height)
    items = _padded(items, blocks * height)

    def divided(part: tf.Tensor) -> tf.Tensor:
        return tf.transpose(tf.reshape(part, [tf.shape(part)[0], blocks, height]), [1, 0, 2])

    rows = tf.nest.map_structure(divided, items)

    def add(
        block: tf.Tensor, losses: tf.Tensor, column_gradients: tf.Tensor, row_gradients: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        sums = tile(tf.nest.map_structure(lambda part: part[block], rows), items)
        row_gradients = tf.tensor_scatter_nd_update(row_gradients, [[block]], sums.rows[tf.newaxis])
        return block + 1, losses + sums.losses, column_gradients + sums.columns, row_gradients

    nothing = (
        tf.reduce_sum(tf.zeros_like(items.scores), axis=1),
        tf.zeros_like(items.scores),
        tf.zeros_like(rows.scores),
    )
    _, losses, column_gradients, row_gradients = tf.while_loop(
        lambda block, *_: block < blocks, add, (0, *nothing), parallel_iterations=1
    )
    row_gradients = tf.reshape(tf.transpose(row_gradients, [1, 0, 2]), tf.shape(column_gradients))
    return losses, (column_gradients - row_gradients)[:, :size]


def _padded(items: Items, width: int | tf.Tensor) -> Items:
    """Pad `items` to `width`."""
    padding = [[0, 0], [0, width - tf.shape(items.labels)[1]]]
    padded = tf.nest.map_structure(lambda part: tf.pad(part, padding), items)
    return padded._replace(labels=tf.pad(items.labels, padding, constant_values=math.nan))
