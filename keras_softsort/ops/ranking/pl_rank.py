"""Minus the expected metric of Plackett-Luce orders, with the policy gradient of PL-Rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.core.axes import flatten_lists
from keras_softsort.ops.core.choices import Ordered, choices_in
from keras_softsort.ops.core.numbers import with_slopes
from keras_softsort.ops.core.order import masked_last
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.ranking._noise import Noise, sampled_scores
from keras_softsort.ops.ranking.dcg import NDCG_CHECKS, ndcg_parts
from keras_softsort.ops.ranking.lists import ListArguments, RankingLists, finite_with_gain
from keras_softsort.ops.ranking.operators import SEED, list_operator

if TYPE_CHECKING:
    from typing_extensions import Unpack


@export
@list_operator(
    finite_with_gain,
    non_negative_weights=True,
    **NDCG_CHECKS,
    num_samples=arguments.positive_integer,
    seed=SEED,
)
def pl_rank_loss(
    lists: RankingLists,
    *,
    seed: Any,
    k: int | None = None,
    gain: str = "exponential",
    discount: str | Sequence[float] = "log2",
    normalization: str = "ideal",
    num_samples: int = 32,
    **shared: Unpack[ListArguments],
) -> tf.Tensor:
    """Compute minus the expected NDCG or DCG of an order drawn from the Plackett-Luce distribution of the scores.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    With scores s, gains g and weights w (1 by default): `-E_z[sum_{i <= k} D_i w_{z_i} g_{z_i}] / IDCG`, where the
    order z is drawn item by item with probabilities proportional to exp(s), D are the discounts of the ranks, and IDCG
    is the DCG of the best order, its weights 1. The expectation is a mean over samples. Its gradient is PL-Rank's:
    unbiased, with less variance than the score function's, because each item is credited with the reward it would earn
    at every rank. See `PLRankLoss` for its use.

    Args:
      scores: logits, floating-point `[..., n]`.
      labels, gain, normalization, mask: as in `approx_ndcg_loss`.
      seed: two integers, the stateless seed of the samples.
      k: number of ranks that count; None for all.
      discount: as in `approx_ndcg_loss`, or a sequence with the discounts of the ranks 1, 2, ..., which must not rise
        or be negative; ranks after the last one count 0.
      num_samples: number of sampled orders per list. The standard error falls with its square root.
      weights: as in `approx_ndcg_loss`, not negative.

    Returns:
      `[...]` in the dtype of `scores`, as in `approx_ndcg_loss`. Only scores have a gradient. No second derivatives.

    Raises:
      TypeError: `scores` is not floating-point, or an argument has another type.
      ValueError: `k` or `num_samples` is below 1, a name is unknown, discounts rise or are negative, shapes do not
        match, or a weight is negative (an InvalidArgumentError in a traced function; not checked under XLA).

    Cost: O(n log k) time and O(n) memory per list and sample; O(n^1.5) if the scores of a list span more than 70. The
    gradient is computed with the value.

    Example:
      >>> round(float(ks.ops.pl_rank_loss([9.0, -9.0, 0.0], [2, 0, 1], seed=[1, 2])), 2)
      -1.0

    Source: H. Oosterhuis, "Learning-to-Rank at the Speed of Sampling: Plackett-Luce Gradient Estimation With Minimal
    Computational Complexity", SIGIR 2022 (PL-Rank-3); H. Oosterhuis, "Computationally Efficient Optimization of
    Plackett-Luce Ranking Models for Relevance and Fairness", SIGIR 2021.
    """
    gains, rank_weights = ndcg_parts(lists, k, gain, discount, normalization)
    keys = sampled_scores(lists.scores, Noise(num_samples, 1.0, seed))
    return -_expected_reward(keys, lists.scores, lists.mask, gains, rank_weights)


def _expected_reward(
    keys: tf.Tensor, logits: tf.Tensor, mask: tf.Tensor | None, rewards: tf.Tensor, rank_weights: tf.Tensor
) -> tf.Tensor:
    """Compute the mean over samples of `sum_{i < k} rank_weights_i rewards_{z_i}`: `[batch]`.

    `keys` `[samples, batch, n]` are `logits` `[batch, n]` plus Gumbel noise, and z is their order. `rank_weights` are
    `[k]` with k <= n, and `rewards` `[batch, n]`, 0 where masked. Neither may be negative.
    """
    shape = tf.shape(keys)
    count = rank_weights.shape[0] or tf.shape(rank_weights)[0]
    orders = tf.math.top_k(flatten_lists(masked_last(keys, mask)), count).indices
    choices = choices_in(orders, logits.shape[1] or shape[2])
    scores = logits if mask is None else tf.where(mask, logits, excluded(logits.dtype))
    scores, every_reward = (
        choices.arranged(flatten_lists(tf.broadcast_to(tf.stop_gradient(each), shape))) for each in (scores, rewards)
    )
    weights = choices.at_ranks(tf.pad(rank_weights, [[0, shape[2] - tf.shape(rank_weights)[0]]]))
    slopes = choices.restored(reward_gradients(choices, scores, every_reward, weights))

    def mean(values: tf.Tensor) -> tf.Tensor:
        """Average the values of each list over its samples."""
        samples = tf.reshape(values, tf.concat([shape[:2], tf.shape(values)[1:]], axis=0))
        samples = tf.cast(samples, logits.dtype)
        return tf.reduce_sum(samples / tf.cast(shape[0], logits.dtype), axis=0)  # a sum of them may overflow

    return with_slopes(mean(tf.reduce_sum(weights * every_reward, axis=1)), mean(slopes), logits)


def reward_gradients(choices: Ordered, scores: tf.Tensor, rewards: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Compute PL-Rank's estimate of the gradient of the expected reward from the choices of each order: [lists, n].

    The estimate for item d is `sum_{j > r} w_j rewards_j + sum_{i <= r} p_i(d) (w_i rewards_d - later_i)`, where r is
    the rank of d, `p_i(d)` its probability at rank i, and `later_i = sum_{j >= i} w_j rewards_j` the reward from rank i
    on. The sums over i are those of the gradients of the costs of the choices with the weights w and later.
    """
    largest = tf.reduce_max(rewards, axis=1, keepdims=True)
    rewards = tf.math.divide_no_nan(rewards, largest)  # large ones over small exponentials would overflow
    gained = weights * rewards
    later = gained + choices.others(gained)
    _, slopes, slopes_of_later = choices.costs_and_slopes(scores, weights, later)
    return largest * (rewards * slopes - slopes_of_later)
