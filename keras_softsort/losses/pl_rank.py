"""Minus the expected metric of Plackett-Luce orders, with the policy gradient of PL-Rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort._targets.lists import Lists
from keras_softsort.losses._noise import sampled_scores
from keras_softsort.losses._scores import ScoreLoss
from keras_softsort.ops._core import validation
from keras_softsort.ops.ranking._dcg import (
    DISCOUNTS,
    GAINS,
    absolute_gains,
    negative_ndcg,
    rank_discounts,
    relative_gains,
)
from keras_softsort.ops.sampling._pl_rank import expected_reward


@register
class PLRankLoss(ScoreLoss):
    """Minus the expected DCG or NDCG of an order drawn from Plackett-Luce, by samples: a policy learned by PL-Rank.

    Of a list with log-scores s, gains g and weights w (1 by default): `-E_z[sum_{i <= k} D_i w_{z_i} g_{z_i}] / IDCG`,
    where z is drawn item by item with probabilities in proportion to exp(s), D are the discounts of the ranks, and
    IDCG is the DCG of the best order, its weights 1. The expectation is the mean over sampled orders; its gradient is
    PL-Rank's, which is unbiased, with less variance than the score function's, and uses of an item what every place
    would have brought it. The loss is the mean over lists.

    Args:
      k: how many ranks count; `None` for all.
      gain: of a label l: `"exponential"`, 2^l - 1, or `"linear"`, l.
      discount: of rank r: `"log2"`, 1 / log2(1 + r), or `"reciprocal"`, 1 / r; or the discounts of the ranks 1, 2, ...
        themselves, which do not rise and are not negative. Ranks after the last one count 0.
      normalized: divide by the best order's, for NDCG; else DCG, or with `discount=[1.0] * k` and `gain="linear"` the
        number of relevant items among the first k.
      num_samples: sampled orders of each list. The standard error falls with its square root.
      seed: an integer or `None`. Each call draws anew from TensorFlow's generator of random numbers; with a seed and
        `tf.random.set_seed` runs repeat, except under XLA, whose generator takes no seed.
      reduction: `"sum_over_batch_size"` (mean over lists), `"sum"`, or `None` or `"none"`: each list's.
      name: of the loss.

    Call arguments: `y_true` `[batch, n]`, relevance from 0 on, a label below 0 being padding; `y_pred` `[batch, n]`,
    log-scores (both dense or ragged); `sample_weight` `[batch]`, `[batch, 1]` or `[batch, n]`, not negative, which
    multiplies the gains in the DCG and not in the ideal one. A Keras mask on `y_pred` marks items. Padding changes
    nothing (at the end of lists not even the noise of the others). A list without a label above 0, and an empty one,
    costs 0 with zero gradient; equal log-scores are equal chances. Computed in float32 for half precision, sums over
    what is left to choose from in float64, whatever the range of log-scores. A label or log-score that is not finite
    makes its list's loss NaN. There is a gradient for log-scores alone, and none of second order.

    Raises:
      ValueError: `k` or `num_samples` < 1, an unknown name, discounts that rise or are negative, shapes that do not
        match, a negative weight.
      TypeError: an argument of another type, `y_pred` is not floating-point.
      InvalidArgumentError: a negative weight in a traced function (under XLA it is not looked at).

    Cost: O(n + k log k) time a list and sample but for the sampling, O(n log k); O(n) memory.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, log_scores = tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[9.0, -9.0, 0.0]])
    >>> round(float(ks.PLRankLoss()(labels, log_scores)), 2)  # nearly always the best order
    -1.0
    >>> loss = ks.PLRankLoss(k=1, gain="linear", discount=[1.0], normalized=False, num_samples=10_000)
    >>> abs(float(loss(labels, tf.zeros([1, 3]))) + 1.0) < 0.05  # the mean label of one drawn at random
    True

    Source: H. Oosterhuis, "Learning-to-Rank at the Speed of Sampling: Plackett-Luce Gradient Estimation With Minimal
    Computational Complexity", SIGIR 2022 (PL-Rank-3); H. Oosterhuis, "Computationally Efficient Optimization of
    Plackett-Luce Ranking Models for Relevance and Fairness", SIGIR 2021.
    """

    needs_gains = True

    def __init__(
        self,
        *,
        k: int | None = None,
        gain: str = "exponential",
        discount: str | Sequence[float] = "log2",
        normalized: bool = True,
        num_samples: int = 32,
        seed: int | None = None,
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "pl_rank",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.k = None if k is None else arguments.positive_integer("k", k)
        self.gain = arguments.one_of("gain", gain, GAINS)
        self.discount = _checked_discount(discount)
        self.normalized = arguments.boolean("normalized", normalized)
        self.num_samples = arguments.positive_integer("num_samples", num_samples)
        self.seed = None if seed is None else arguments.integer("seed", seed)

    def score_losses(self, lists: Lists, scores: tf.Tensor) -> tf.Tensor:
        """The loss of each list: [batch]."""
        weights = validation.non_negative_tensor("sample_weight", lists.weights)
        gains_of = relative_gains if self.normalized else absolute_gains
        gains = gains_of(lists.labels, lists.mask, self.gain)
        rank_weights = self._rank_weights(scores)
        keys = sampled_scores(scores, self.num_samples, 1.0, self.seed)
        reward = expected_reward(keys, scores, lists.mask, weights * gains, rank_weights)
        return negative_ndcg(reward, gains, rank_weights) if self.normalized else -reward

    def _rank_weights(self, scores: tf.Tensor) -> tf.Tensor:
        """The discounts of the ranks that count: `[k]`, or fewer where lists are shorter."""
        size = scores.shape[1] or tf.shape(scores)[1]
        if isinstance(self.discount, str):
            return rank_discounts(size, scores.dtype, kind=self.discount)[: self.k]
        return tf.constant(self.discount[: self.k], scores.dtype)[:size]

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = ("k", "gain", "discount", "normalized", "num_samples", "seed")
        return {**super().get_config(), **{name: getattr(self, name) for name in own}}


def _checked_discount(discount: str | Sequence[float]) -> str | list[float]:
    if isinstance(discount, str):
        return arguments.one_of("discount", discount, DISCOUNTS)
    if not isinstance(discount, Sequence) or not discount:
        raise TypeError(f"discount must be a name or a sequence of numbers, got {discount!r}")
    numbers = [arguments.non_negative_number("discount", each) for each in discount]
    if numbers != sorted(numbers, reverse=True):
        raise ValueError(f"discount must not rise from one rank to the next, got {discount!r}")
    return numbers
