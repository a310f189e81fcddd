"""The expected reward of Plackett-Luce orders, from samples, with PL-Rank's gradient."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.axes import flatten_lists, is_at_most
from keras_softsort.ops.core.gradients import with_slopes
from keras_softsort.ops.core.order import inverse, masked_last, take
from keras_softsort.ops.core.target import recomputes_pairs
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.sampling.choice_costs import FLOAT32_SIZE
from keras_softsort.ops.sampling.logsumexp import in_float64, is_excluded, logsumexp, scaled_sums, suffix_sums

# Logits within this of the largest of their list: the sums of their exponentials are in range, and so are rewards of
# up to 1e20 over any of them.
SAFE_RANGE_WITH_REWARDS = {tf.float32: 40.0, tf.float64: 600.0}


def expected_reward(
    keys: tf.Tensor, logits: tf.Tensor, mask: tf.Tensor | None, rewards: tf.Tensor, rank_weights: tf.Tensor
) -> tf.Tensor:
    """Compute the mean over samples of `sum_{i < k} rank_weights_i rewards_{z_i}`: `[batch]`.

    `keys` `[samples, batch, n]` are `logits` `[batch, n]` plus Gumbel noise, and z is their order. `rank_weights` are
    `[k]` with k <= n, and `rewards` `[batch, n]`, 0 where masked. Neither may be negative.
    """
    shape = tf.shape(keys)
    # Five passes over all pairs: on an H200 they take 6.5 times as long as orders, for 64 lists of 128 items.
    if recomputes_pairs(logits.shape[1]):
        return _by_pairs(keys, logits, mask, rewards, rank_weights)
    count = rank_weights.shape[0] or tf.shape(rank_weights)[0]
    orders = flatten_lists(tf.math.top_k(masked_last(keys, mask), count).indices)
    every_reward = flatten_lists(tf.broadcast_to(rewards, shape))

    def mean(values: tf.Tensor) -> tf.Tensor:
        """Average the values of each list over its samples."""
        return _mean(tf.reshape(values, tf.concat([shape[:2], tf.shape(values)[1:]], axis=0)))

    reward = mean(tf.reduce_sum(take(every_reward, orders) * rank_weights, axis=-1))
    scores = logits if is_at_most(logits.shape[1], FLOAT32_SIZE) else tf.cast(logits, tf.float64)
    scores = scores if mask is None else tf.where(mask, scores, excluded(scores.dtype))
    every_score = flatten_lists(tf.broadcast_to(tf.stop_gradient(scores), shape))
    slopes = mean(reward_gradients(every_score, orders, every_reward, rank_weights))
    return with_slopes(reward, tf.cast(slopes, logits.dtype), logits)


def _by_pairs(
    keys: tf.Tensor, logits: tf.Tensor, mask: tf.Tensor | None, rewards: tf.Tensor, rank_weights: tf.Tensor
) -> tf.Tensor:
    """Compute `expected_reward` and the estimate of `reward_gradients` from all pairs of items, without an order.

    Sums are relative to the largest logit that is left at each rank, so that they have one form for any range.
    """
    keys, places = masked_last(keys, mask), tf.range(logits.shape[1])
    own, others = keys[..., tf.newaxis], keys[..., tf.newaxis, :]
    is_before = tf.logical_or(others > own, tf.logical_and(tf.equal(others, own), places < places[:, tf.newaxis]))
    ranks = tf.reduce_sum(tf.cast(is_before, tf.int32), axis=-1)  # [samples, batch, n]
    zero = tf.zeros([], logits.dtype)
    # 0 after the last of them.
    is_rank = tf.equal(ranks[..., tf.newaxis], tf.range(tf.shape(rank_weights)[0]))
    weights = tf.reduce_sum(tf.where(is_rank, rank_weights, zero), axis=-1)

    scores = logits if mask is None else tf.where(mask, logits, excluded(logits.dtype))
    rank, other = ranks[..., tf.newaxis], ranks[..., tf.newaxis, :]
    gained = (weights * rewards)[..., tf.newaxis, :]
    after = tf.reduce_sum(tf.where(other > rank, gained, zero), axis=-1)
    later = after + weights * rewards
    left = tf.where(other >= rank, scores[:, tf.newaxis], excluded(scores.dtype))
    peaks, totals = scaled_sums(left)
    # The total is at least 1 where an item is left. Subtracted in turn, since a peak far from 0 has few digits.
    logs = tf.math.log(tf.maximum(totals, 1))
    below = (scores[..., tf.newaxis] - peaks[..., tf.newaxis, :]) - logs[..., tf.newaxis, :]
    chances = tf.exp(tf.where(other <= rank, below, excluded(scores.dtype)))
    losses = later[..., tf.newaxis, :] - weights[..., tf.newaxis, :] * rewards[..., tf.newaxis]
    slopes = _mean(after - tf.reduce_sum(chances * losses, axis=-1))
    return with_slopes(_mean(tf.reduce_sum(weights * rewards, axis=-1)), slopes, logits)


def _mean(samples: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(samples / tf.cast(tf.shape(samples)[0], samples.dtype), axis=0)  # a sum of them may overflow


def reward_gradients(logits: tf.Tensor, orders: tf.Tensor, rewards: tf.Tensor, rank_weights: tf.Tensor) -> tf.Tensor:
    """Compute PL-Rank's estimate [lists, n] of the gradient of the expected reward, from each of `orders` `[lists, k]`.

    The estimate for item d is `later_{r + 1} + sum_{i <= min(r, k)} exp(s_d) / Z_i (w_i rewards_d - later_i)`. r is the
    rank of d, or k if d is not among the first k. Z_i is the sum of exp(logit) over the items that are left at rank i.
    `later_i = sum_{j >= i} w_j rewards_{z_j}` is the reward from rank i on.
    """
    peak = tf.reduce_max(logits, axis=-1, keepdims=True)
    below = logits - tf.maximum(peak, logits.dtype.min / 8)
    rewards, rank_weights = tf.cast(rewards, logits.dtype), tf.cast(rank_weights, logits.dtype)
    chances = ChoiceChances(below, orders, inverse(orders, tf.shape(logits)[-1]))
    later = tf.cumsum(take(rewards, orders) * rank_weights, axis=-1, reverse=True)
    terms = (tf.zeros_like(later) + rank_weights, later)
    # NaN counts as in range: sums of exponentials keep it within its list.
    wide = tf.reduce_any(tf.logical_and(below < -SAFE_RANGE_WITH_REWARDS[logits.dtype], below > logits.dtype.min / 16))
    # Not relative to the largest: the others would lose their digits if it is far from them.
    of_any_range = chances._replace(logits=logits)
    weights, losses = tf.cond(wide, lambda: of_any_range.by_logarithms(*terms), lambda: chances.by_sums(*terms))
    after = take(tf.pad(later, [[0, 0], [0, 2]]), chances.ranks + 1)
    return after + rewards * weights - losses


class ChoiceChances(NamedTuple):
    """Sums over the ranks i up to that of item d. They add exp(s_d) / Z_i, the chance of d at rank i, times a term."""

    logits: tf.Tensor  # [lists, n]; at most 0 for `by_sums`
    orders: tf.Tensor  # [lists, k]
    ranks: tf.Tensor  # [lists, n]; k for items that are not among the first k

    def by_sums(self, *terms: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Compute the sums [lists, n] for each of the terms [lists, k] of at least 0. The logits are in range."""
        exponentials = tf.exp(self.logits)
        chosen = take(exponentials, self.orders)
        unchosen = tf.reduce_sum(tf.where(self._is_chosen(), tf.zeros_like(exponentials), exponentials), axis=-1)
        left = tf.cumsum(chosen, axis=1, reverse=True) + unchosen[:, tf.newaxis]
        shares = (tf.math.divide_no_nan(each, left) for each in terms)
        return tuple(exponentials * self._at_ranks(tf.cumsum(each, axis=1)) for each in shares)

    def by_logarithms(self, *terms: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Compute the sums for logits of any range, in float64: float32 logarithms far from 0 lose precision."""
        nothing, logits = excluded(tf.float64), in_float64(self.logits)
        unchosen = logsumexp(tf.where(self._is_chosen(), nothing, logits))
        left = suffix_sums(tf.concat([take(logits, self.orders), unchosen[:, tf.newaxis]], axis=-1)).log()[:, :-1]
        ended = is_excluded(left)  # no item is left

        def sums(each: tf.Tensor) -> tf.Tensor:
            counts = tf.logical_and(each > 0, tf.logical_not(ended))
            terms = tf.where(counts, tf.cast(each, tf.float64), tf.ones_like(left))
            shares = tf.where(counts, tf.math.log(terms) - left, nothing)
            summed = tf.reverse(suffix_sums(tf.reverse(shares, [-1])).log(), [-1])
            return tf.cast(tf.exp(logits + self._at_ranks(summed)), self.logits.dtype)

        return tuple(sums(each) for each in terms)

    def _is_chosen(self) -> tf.Tensor:
        return self.ranks < tf.shape(self.orders)[1]

    def _at_ranks(self, sums: tf.Tensor) -> tf.Tensor:
        """Take the sums at the rank of each item, and the last ones for items that are not among the first k."""
        return take(sums, tf.minimum(self.ranks, tf.shape(self.orders)[1] - 1))
