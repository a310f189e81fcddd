"""The loss of each list from the sums over its pairs, for all pairwise losses."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops._core.lists import flatten_lists
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.ranking._lists import (
    RankingArguments,
    RankingLists,
    flat_weights,
    ranking_arguments,
    with_leading_axes,
)
from keras_softsort.ops.ranking._pairs.arguments import NORMALIZATIONS, PairOptions, pair_lists
from keras_softsort.ops.ranking._pairs.pair_sums import eager_blocks, pair_sums


def pairwise_losses(
    scores: Any, labels: Any, options: PairOptions, *, normalization: str, mask: Any, weights: Any
) -> tf.Tensor:
    """The weighted costs of the pairs of each list, normalized: `[...]` for scores `[..., n]`."""
    arguments.one_of("normalization", normalization, NORMALIZATIONS)
    args = ranking_arguments(scores, labels, mask, weights, non_negative_weights=True)
    return _losses(args, options, normalization, eager_blocks(args.scores))


@traced_if_eager
def _losses(args: RankingArguments, options: PairOptions, normalization: str, blocks: int | None) -> tf.Tensor:
    lists = raw_lists(args)
    lists = lists if args.weights is not None else lists._replace(weights=None)
    return with_leading_axes(normalized_sums(lists, options, normalization, blocks), args.scores)


def raw_lists(args: RankingArguments) -> RankingLists:
    """Lists `[B, n]` with whatever scores and labels they hold; `pair_lists` makes them safe."""
    labels = tf.stop_gradient(flatten_lists(args.labels))
    scores = tf.cast(flatten_lists(args.scores), labels.dtype)
    mask = tf.ones_like(scores, tf.bool) if args.mask is None else flatten_lists(args.mask)
    # Op by op, TensorFlow would differentiate what a custom gradient captures, and in a graph it would not.
    weights = tf.stop_gradient(flat_weights(args.weights, mask, tf.shape(args.scores), labels.dtype))
    return RankingLists(scores, labels, mask, weights, None)


def normalized_sums(
    lists: RankingLists, options: PairOptions, normalization: str, blocks: int | None = None
) -> tf.Tensor:
    """The loss of each list [B], with the closed-form gradient of the scores."""
    labels, mask, weights = lists.labels, lists.mask, lists.weights

    @tf.custom_gradient
    def summed(scores: tf.Tensor) -> tuple:
        sums = pair_sums(pair_lists(scores, labels, mask, weights, options), options, blocks)
        return (sums.losses, sums.counts), lambda upstream, _: upstream[:, tf.newaxis] * sums.lambdas

    losses, counts = summed(lists.scores)
    if normalization == "list":
        counts = tf.reduce_sum(tf.cast(mask, labels.dtype), axis=-1)
    if normalization != "none":
        losses /= tf.stop_gradient(tf.maximum(counts, 1))
    return losses
