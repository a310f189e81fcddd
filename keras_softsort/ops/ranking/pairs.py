"""The losses of all pairs of a list, with gradients in closed form, so that all pairs are never stored."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.core.axes import list_size
from keras_softsort.ops.core.target import compares_pairs
from keras_softsort.ops.core.temperature import pair_scores, within_range
from keras_softsort.ops.ranking._tiles import (
    TILE_PAIRS,
    Items,
    PairOptions,
    beyond_labels,
    one_tile,
    sorted_tiles,
)
from keras_softsort.ops.ranking.lambda_weights import LAMBDA_WEIGHT, LambdaOptions, delta_features
from keras_softsort.ops.ranking.lists import Derivatives, RankingLists

# Lists of up to this many items are one tile of all pairs in the order of the list. Longer ones are sorted, so that
# about half of the tiles hold no pair.
SHORT_SIZE = 128
# The pairs of one tile where pairs are compared, since XLA stores few of them there.
MAX_COMPARED_PAIRS = 2**26

# The checks of the options that pairwise losses share.
PAIR_CHECKS: dict[str, Any] = {
    "lambda_weight": LAMBDA_WEIGHT,
    "normalization": arguments.choice("auto", "list", "none", "pairs"),
}


def have_pairs(
    scores: tf.Tensor, labels: tf.Tensor, lambda_weight: LambdaOptions | None, cost: str = "logistic", **_: Any
) -> tf.Tensor:
    """Whether pairs with items [B, n] have a cost. Labels may be infinite where only their order counts."""
    readable = tf.logical_and(tf.math.is_finite(scores), tf.logical_not(tf.math.is_nan(labels)))
    if lambda_weight is not None and lambda_weight.needs_gain():
        readable = tf.logical_and(readable, labels >= 0)
    if cost == "squared" or (lambda_weight is not None and lambda_weight.metric == "label_diff"):
        readable = tf.logical_and(readable, tf.math.is_finite(labels))
    return readable


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
    lists: RankingLists, cost: str, lambda_weight: Any, normalization: str, ties: str = "ignore"
) -> Derivatives:
    """The derivatives of `pair_losses`. Lambda weights are constants."""
    options = PairOptions(cost, lambda_weight, normalization, ties)
    return Derivatives(*_derivatives(lists, options, orders=2))


def pair_lambdas(lists: RankingLists, lambda_weight: Any, ties: str) -> tf.Tensor:
    """The gradient [B, n] of the sum of the logistic costs of each list, as a constant."""
    (slopes,) = _derivatives(lists, PairOptions("logistic", lambda_weight, "none", ties), orders=1)
    return tf.stop_gradient(slopes)


def _derivatives(lists: RankingLists, options: PairOptions, orders: int) -> list[tf.Tensor]:
    """The derivatives [B, n] with respect to the scores, up to so many orders."""
    scaled, scale = within_range(pair_scores(lists.scores, lists.mask, lists.tau)), 1 / lists.tau
    _, *derivatives = _pair_sums(_items(lists, options)._replace(scores=scaled), lists, options, orders)
    return [tf.pow(scale, order) * each for order, each in enumerate(derivatives, start=1)]


def _items(lists: RankingLists, options: PairOptions) -> Items:
    """The items as constants: op by op, TensorFlow would differentiate what a custom gradient captures."""
    labels = labels_of_less = lists.labels
    mask = lists.mask if _is_one_tile(lists.scores.shape) else lists.valid()
    if mask is not None:
        beyond = beyond_labels(labels.dtype)
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
    if is_one is None:
        sums = tf.cond(
            is_one_tile(tf.shape(items.scores)),
            lambda: one_tile(items, options, orders),
            lambda: sorted_tiles(items, options, orders),
        )
    else:
        sums = one_tile(items, options, orders) if is_one else sorted_tiles(items, options, orders)
    if options.is_mean():
        divisors = tf.maximum(sums.counts if options.counts_pairs() else _number_of_pairs(lists.sizes()), 1)
    elif options.normalization == "list":
        divisors = lists.sizes()
    else:
        return [sums.costs, *sums.derivatives]
    return [sums.costs / divisors, *(each / divisors[:, tf.newaxis] for each in sums.derivatives)]


def _number_of_pairs(sizes: tf.Tensor) -> tf.Tensor:
    return sizes * (sizes - 1) / 2


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
