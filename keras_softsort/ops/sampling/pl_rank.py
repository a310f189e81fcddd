"""The expected reward of Plackett-Luce orders, from samples, with PL-Rank's gradient."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.core.axes import flatten_lists
from keras_softsort.ops.core.choices import Ordered, choices_in
from keras_softsort.ops.core.numbers import with_slopes
from keras_softsort.ops.core.order import masked_last
from keras_softsort.ops.core.temperature import excluded


def expected_reward(
    keys: tf.Tensor, logits: tf.Tensor, mask: tf.Tensor | None, rewards: tf.Tensor, rank_weights: tf.Tensor
) -> tf.Tensor:
    """Compute the mean over samples of `sum_{i < k} rank_weights_i rewards_{z_i}`: `[batch]`.

    `keys` `[samples, batch, n]` are `logits` `[batch, n]` plus Gumbel noise, and z is their order. `rank_weights` are
    `[k]` with k <= n, and `rewards` `[batch, n]`, 0 where masked. Neither may be negative.
    """
    shape = tf.shape(keys)
    count = rank_weights.shape[0] or tf.shape(rank_weights)[0]
    orders = flatten_lists(tf.math.top_k(masked_last(keys, mask), count).indices)
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
