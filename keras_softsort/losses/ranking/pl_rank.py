"""Minus the expected metric of Plackett-Luce orders, with the policy gradient of PL-Rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._score_loss import OperatorLoss
from keras_softsort.ops.ranking.pl_rank import pl_rank_loss


@export
class PLRankLoss(OperatorLoss, operator=pl_rank_loss):
    """Minus the expected NDCG of an order drawn from the Plackett-Luce distribution, trained by PL-Rank.

    Use it for stochastic rankings: to learn a policy that samples orders, for exploration or fairness of exposure, or
    to optimize a metric without a relaxation. It is fast on long lists. Labels are relevance, at least 0; by default a
    label below 0 marks padding.

    With scores s, gains g and weights w (1 by default): `-E_z[sum_{i <= k} D_i w_{z_i} g_{z_i}] / IDCG`, where the
    order z is drawn item by item with probabilities proportional to exp(s), D are the discounts of the ranks, and IDCG
    is the DCG of the best order, its weights 1. The expectation is the mean over sampled orders. Its gradient is
    PL-Rank's: unbiased, and with less variance than the score function's, because it credits each item with the reward
    it would earn at every rank.

    Args:
      k: number of ranks that count; None for all.
      gain: gain of a label l: `"exponential"`, 2^l - 1, or `"linear"`, l.
      discount: discount of rank r: `"log2"`, 1 / log2(1 + r), or `"reciprocal"`, 1 / r. Or a sequence with the
        discounts of the ranks 1, 2, ..., which must not rise or be negative; ranks after the last one count 0.
      normalization: `"ideal"` divides by the DCG of the best order, which gives NDCG; `"none"` gives DCG.
      num_samples: number of sampled orders per list. The standard error falls with its square root.
      seed: integer seed or None. Each call draws new samples from TensorFlow's generator. With a seed and
        `tf.random.set_seed` runs repeat, except under XLA, whose generator takes no seed.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Weights must not be negative. They multiply the gains in the
    DCG, not in the ideal one. Padding at the end of lists does not change the noise of the other items. A list without
    a label above 0 gives 0. A label or score that is not finite, or a label below 0 that is not padding, makes the loss
    of its list NaN. Only the scores have a gradient, and there are no second derivatives.

    With `normalization="none"`, `discount=[1.0] * k` and `gain="linear"`, binary labels make it minus the expected
    number of relevant items among the first k.

    Raises:
      ValueError: `k` or `num_samples` is below 1, a name is unknown, discounts rise or are negative, shapes do not
        match, or a weight is negative.
      TypeError: an argument has another type, or `y_pred` is not floating-point.
      InvalidArgumentError: a weight is negative in a traced function (not checked under XLA).

    Cost: that of `ops.pl_rank_loss`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, logits = tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[9.0, -9.0, 0.0]])
    >>> round(float(ks.PLRankLoss()(labels, logits)), 2)  # nearly always the best order
    -1.0
    >>> loss = ks.PLRankLoss(k=1, gain="linear", discount=[1.0], normalization="none", num_samples=10_000)
    >>> abs(float(loss(labels, tf.zeros([1, 3]))) + 1.0) < 0.05  # the mean label of one drawn at random
    True

    Source: H. Oosterhuis, "Learning-to-Rank at the Speed of Sampling: Plackett-Luce Gradient Estimation With Minimal
    Computational Complexity", SIGIR 2022 (PL-Rank-3); H. Oosterhuis, "Computationally Efficient Optimization of
    Plackett-Luce Ranking Models for Relevance and Fairness", SIGIR 2021.
    """

    _depends_on_offset = True  # the estimate of its gradient does, by chance

    def __init__(
        self,
        *,
        k: int | None = None,
        gain: str = "exponential",
        discount: str | Sequence[float] = "log2",
        normalization: str = "ideal",
        num_samples: int = 32,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)
