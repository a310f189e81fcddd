"""Minus the NDCG with smooth ranks in place of ranks."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.ranking._dcg import NDCGOptions, discounts
from keras_softsort.ops.ranking._lists import RankingLists
from keras_softsort.ops.ranking._sigmoid_ranks.sigmoid_ranks import sigmoid_ranks


def approx_ndcg_losses(lists: RankingLists, options: NDCGOptions) -> tf.Tensor:
    """The loss of each list [B] of finite scores."""
    gains = options.gains(lists.labels, lists.mask)
    ranks = sigmoid_ranks(lists.scores, lists.tau, lists.mask)
    counted = lists.weights * gains * discounts(ranks, str(options.discount))
    if options.k is not None:
        counted *= tf.clip_by_value(options.k + 1 - ranks, 0, 1)
    return options.losses(tf.reduce_sum(counted, axis=-1), gains, options.rank_weights(lists.scores))
