"""The option and the mean that losses of items share."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.ranking.lists import RankingLists

# The check of the option that losses of items share.
ITEM_CHECKS: dict[str, Any] = {"normalization": arguments.choice("list", "none")}


def item_mean(lists: RankingLists, costs: tf.Tensor, normalization: str) -> tf.Tensor:
    """Compute the weighted mean or sum [B] of the `costs` [B, n] of valid items."""
    if lists.weights is None:
        total = tf.reduce_sum(lists.only_valid(costs), axis=-1)
    else:
        # An item of weight 0 costs 0, even if its cost is infinite.
        total = tf.reduce_sum(tf.math.multiply_no_nan(costs, lists.weights), axis=-1)
    return total / lists.sizes() if normalization == "list" else total
