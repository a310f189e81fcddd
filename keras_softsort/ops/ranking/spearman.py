"""One minus Spearman's rank correlation of labels and soft ranks of scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.core.order import mean_ranks
from keras_softsort.ops.ranking.lists import RankingLists, TauArguments, finite
from keras_softsort.ops.ranking.operators import list_operator
from keras_softsort.ops.sorting import dispatch, methods
from keras_softsort.ops.sorting.methods import sort_of_lists

if TYPE_CHECKING:
    from typing_extensions import Unpack

# The spread of soft ranks counts as at least this share of the spread of the ranks 1, ..., n.
MIN_SPREAD = 0.01


@export
@list_operator(
    finite,
    methods.check_power,
    tau=1.0,
    method=lambda _, method: methods.checked_method(method, "ranks"),
    power=arguments.positive_number,
)
def spearman_loss(
    lists: RankingLists, *, method: str = "neural_sort", power: float = 1.0, **shared: Unpack[TauArguments]
) -> tf.Tensor:
    """Compute 1 minus Spearman's rank correlation of labels and scores, from 0 (same order) to 2 (reversed).

    Scores come first and labels second, unlike in Keras and scikit-learn.

    `1 - sum_i (r_i - mean r)(q_i - mean q) / sqrt(sum_i (r_i - mean r)^2 sum_i (q_i - mean q)^2)`, where r are the soft
    ranks of the scores and q the ranks of the labels (tied ones have their mean rank). See `SpearmanLoss` for its use.

    Args:
      scores, tau, method, power, mask: as in `soft_rank`; scores are finite. As tau goes to 0 the soft ranks become
        exact, and tied scores have their mean rank.
      labels: numbers `[..., n]` of any sign.
      weights: numbers that broadcast against `[..., n]`. A list has the mean weight of its items.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Lists with fewer than two items, or with constant
      labels, give 0. The standard deviation of the soft ranks counts as at least a hundredth of that of the ranks 1 to
      n, so that equal scores have correlation 0 and a finite gradient. A label or score that is not finite makes its
      list NaN. The cost is that of `soft_rank`.

    Raises:
      TypeError: `scores` is not floating-point, or `mask` is not bool.
      ValueError: `tau` or `power` is not positive, `method` has no ranks, or shapes do not match.

    Example:
      >>> round(float(ks.ops.spearman_loss([0.1, 0.4, 0.3, 0.9], [1, 2, 3, 4], tau=0.001)), 4)  # 1 - 0.8
      0.2

    Source: C. Spearman, "The Proof and Measurement of Association between Two Things", American Journal of Psychology
    15, 1904; as a loss: see the projections of `soft_rank`.
    """
    sort = sort_of_lists(lists.scores, lists.tau, lists.mask, method, power)
    sizes = lists.sizes()
    ranks = dispatch.soft_ranks(sort)
    ranks = _centered(ranks, tf.reduce_sum(ranks, axis=-1) / sizes, lists)
    # The mean of the ranks is known exactly, so that constant labels give exactly 0.
    true_ranks = _centered(mean_ranks(lists.labels, lists.mask), (sizes + 1) / 2, lists)
    least = MIN_SPREAD**2 * sizes * (tf.square(sizes) - 1) / 12
    spread = tf.maximum(tf.reduce_sum(tf.square(ranks), axis=-1), least)
    true_spread = tf.reduce_sum(tf.square(true_ranks), axis=-1)
    has_order = true_spread > 0
    # The product of the spreads of millions of ranks would overflow.
    norms = [tf.sqrt(tf.where(has_order, each, tf.ones_like(each))) for each in (spread, true_spread)]
    correlation = tf.reduce_sum(ranks * true_ranks, axis=-1) / norms[0] / norms[1]
    return tf.where(has_order, lists.mean_weights() * (1 - correlation), tf.zeros_like(true_spread))


def _centered(ranks: tf.Tensor, means: tf.Tensor, lists: RankingLists) -> tf.Tensor:
    return lists.only_valid(ranks - means[:, tf.newaxis])
