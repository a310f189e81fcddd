"""Minus the NDCG with softly sorted gains: NeuralNDCG and PiRank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._score_loss import OperatorLoss
from keras_softsort.ops.ranking.neural_ndcg import neural_ndcg_loss


@export
class NeuralNDCGLoss(OperatorLoss, operator=neural_ndcg_loss):
    """Minus the NDCG at k with softly sorted gains (NeuralNDCG, PiRank), from -1 (the best order) to 0.

    Use it to optimize NDCG directly with the NeuralSort or SoftSort relaxation. It is slower than `ApproxNDCGLoss` and
    `RankNetLoss(lambda_weight="ndcg")`, because Sinkhorn's normalization takes many passes over an n x n matrix.
    `num_iterations=0, hard=True` is PiRank.

    The formula, edge cases, errors, cost and source are those of `ops.neural_ndcg_loss`.

    Args:
      tau: temperature in the units of `method`; see `ListLoss`. For NeuralSort these are scores times list size, for
        SoftSort scores. As it goes to 0 the loss becomes minus the NDCG.
      k: number of ranks that count; None for all.
      gain: gain of a label l: `"exponential"`, 2^l - 1, or `"linear"`, l.
      discount: discount of rank r: `"log2"`, 1 / log2(1 + r), or `"reciprocal"`, 1 / r. Or a sequence with the
        discounts of the ranks 1, 2, ..., which must not rise or be negative; ranks after the last one count 0.
      normalization: `"ideal"` divides by the DCG of the best order, which gives NDCG; `"none"` gives DCG.
      method: the soft permutation, `"neural_sort"` or `"soft_sort"`.
      power: exponent of the distance of scores for `"soft_sort"`, positive.
      num_iterations: maximum number of Sinkhorn iterations; 0 skips the normalization.
      hard: whether the value is that of the exact order of the scores, with the gradient of the soft one.
      stochastic: whether to add Gumbel noise to the scores and take the mean over samples.
      num_samples: number of samples, if `stochastic`.
      noise_scale: factor of the noise, at least 0, if `stochastic`.
      seed: integer or None, if `stochastic`; see `ListLoss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[0.0, 2.0, 1.0]]), tf.constant([[0.4, 0.3, 0.9]])
    >>> round(float(ks.NeuralNDCGLoss(tau=1.0)(labels, scores)), 4)
    -0.7552
    >>> round(float(ks.NeuralNDCGLoss(tau=1.0, num_iterations=0, hard=True)(labels, scores)), 4)
    -0.6885
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        k: int | None = None,
        gain: str = "exponential",
        discount: str | Sequence[float] = "log2",
        normalization: str = "ideal",
        method: str = "neural_sort",
        power: float = 1.0,
        num_iterations: int = 50,
        hard: bool = False,
        stochastic: bool = False,
        num_samples: int = 8,
        noise_scale: float = 1.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)
