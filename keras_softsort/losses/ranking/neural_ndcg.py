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
    Labels are relevance from 0 on; by default a label below 0 marks padding.

    With gains g and weights w (1 by default): `-sum_{i <= k} (P (w g))_i / log2(1 + i) / IDCG`, where P is the soft
    permutation of the scores, made doubly stochastic by Sinkhorn's normalization, and IDCG is the DCG of the first k of
    the best order, its weights 1.

    Without that normalization (`num_iterations=0`) it is PiRank. The columns of P then do not sum to 1, so a gain may
    count more or less than once, and the value may leave [-1, 0]. PiRank is trained with `hard=True`: the value is the
    exact NDCG, and the gradient is that of the soft one.

    Args:
      tau: temperature of `method`, a positive number in units of its logits (for NeuralSort scores times list size,
        for SoftSort scores). As it goes to 0 the loss becomes minus the NDCG.
      k: number of ranks that count; None for all.
      gain: gain of a label l: `"exponential"`, 2^l - 1, or `"linear"`, l.
      discount: discount of rank r: `"log2"`, 1 / log2(1 + r), or `"reciprocal"`, 1 / r. Or a sequence with the
        discounts of the ranks 1, 2, ..., which must not rise or be negative; ranks after the last one count 0.
      normalization: `"ideal"` divides by the DCG of the best order, which gives NDCG; `"none"` gives DCG.
      method: the soft permutation, `"neural_sort"` or `"soft_sort"`.
      power: exponent of the distance of scores for `"soft_sort"`, positive.
      num_iterations: maximum number of Sinkhorn iterations; a list stops early once its row sums are within 1e-6 of 1.
        0 skips the normalization.
      hard: whether the value is minus the NDCG of the exact order of the scores (ties in the order of the items), with
        the gradient of the soft one.
      stochastic: whether to add Gumbel noise to the scores and take the mean over samples. Scores are then logits: with
        `noise_scale=1` and as tau goes to 0, the value is minus the expected NDCG of Plackett-Luce orders.
      num_samples: number of samples, if `stochastic`.
      noise_scale: factor of the noise, at least 0, if `stochastic`.
      seed: integer seed or None, if `stochastic`. Each call draws new noise from TensorFlow's generator. With a seed
        and `tf.random.set_seed` runs repeat, except under XLA, whose generator takes no seed.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Weights multiply the gains in the DCG, not in the ideal one.
    A list without a label above 0 gives 0. A label or score that is not finite, or a label below 0 that is not padding,
    makes the loss of its list NaN. Tied scores share their ranks evenly.

    TF-Ranking's `NeuralSortNDCGLoss` has the value of `num_iterations=0`.

    Raises:
      ValueError: `tau` or `power` is not positive, `k` or `num_samples` is below 1, `num_iterations` or `noise_scale`
        is negative, a name is unknown, discounts rise or are negative, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: that of `ops.neural_ndcg_loss`: O(n^2) memory per list and sample, and O(n^2) time per iteration.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[0.0, 2.0, 1.0]]), tf.constant([[0.4, 0.3, 0.9]])
    >>> round(float(ks.NeuralNDCGLoss(tau=1.0)(labels, scores)), 4)
    -0.7552
    >>> round(float(ks.NeuralNDCGLoss(tau=1.0, num_iterations=0, hard=True)(labels, scores)), 4)
    -0.6885

    Source: P. Pobrotyn, R. Bialobrzeski, "NeuralNDCG: Direct Optimisation of a Ranking Metric via Differentiable
    Relaxation of Sorting", SIGIR eCom 2021; PiRank: R. Swezey, A. Grover, B. Charron, S. Ermon, "PiRank: Scalable
    Learning To Rank via Differentiable Sorting", NeurIPS 2021; the sorts: see `neural_sort` and `soft_sort`.
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
