"""The mean squared error of smooth ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.core.order import mean_ranks
from keras_softsort.ops.ranking._items import item_mean
from keras_softsort.ops.ranking._sigmoid_ranks import sigmoid_ranks
from keras_softsort.ops.ranking.dcg import DISCOUNTS, discounts
from keras_softsort.ops.ranking.lists import RankingLists, TauArguments, finite
from keras_softsort.ops.ranking.operators import list_operator

if TYPE_CHECKING:
    from typing_extensions import Unpack


@export
@list_operator(finite, tau=1.0, discount=arguments.optional(arguments.choice(*DISCOUNTS)))
def approx_rank_mse_loss(
    lists: RankingLists, *, discount: str | None = "log2", **shared: Unpack[TauArguments]
) -> tf.Tensor:
    """Compute the discounted mean squared error of smooth ranks: ADR-MSE.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    With ranks r of the labels, 1 for the largest, and weights w (1 by default): `mean(w_i D(r_i) (r_i - rank_i)^2)`
    with `rank_i = 1 + sum_{j != i} sigmoid((s_j - s_i) / tau)`. Tied labels have the mean of their ranks. See
    `ApproxRankMSELoss` for its use.

    Args:
      scores, tau, mask: as in `approx_ndcg_loss`. As tau goes to 0 the ranks become exact.
      labels: `[..., n]` numbers; only their order counts.
      discount: D: `"log2"`, 1 / log2(1 + r), `"reciprocal"`, 1 / r, or None, 1.
      weights: numbers that broadcast against `[..., n]`.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Empty lists give 0. A score or label that is not
      finite makes its list NaN. The cost is that of `approx_ndcg_loss`.

    Raises:
      TypeError: `scores` is not floating-point, or an argument has another type.
      ValueError: `tau` is not positive, `discount` is unknown, or shapes do not match.

    Example:
      >>> round(float(ks.ops.approx_rank_mse_loss([0.3, 0.9, 0.4], [2.0, 0.0, 1.0])), 4)
      0.7268

    Source: F. Schlatt et al., "Rank-DistiLLM: Closing the Effectiveness Gap Between Cross-Encoders and LLMs for Passage
    Re-Ranking", ECIR 2025.
    """
    ranks = tf.maximum(mean_ranks(lists.labels, lists.mask), 1)  # 0 where masked
    errors = tf.math.squared_difference(ranks, sigmoid_ranks(lists.scores, lists.tau, lists.mask))
    weighted = errors if discount is None else errors * discounts(ranks, discount)
    return item_mean(lists, weighted, "list")
