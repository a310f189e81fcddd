"""Minus the NDCG or the reciprocal rank with smooth ranks: ApproxNDCG, with noise GumbelApproxNDCG, and ApproxMRR."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._score_loss import OperatorLoss
from keras_softsort.ops.ranking.approx_ndcg import approx_mrr_loss, approx_ndcg_loss, gumbel_approx_ndcg_loss


@export
class ApproxNDCGLoss(OperatorLoss, operator=approx_ndcg_loss):
    """Minus the NDCG with smooth ranks (ApproxNDCG), from -1 (the best order) to 0.

    Use it to optimize NDCG directly on short and medium lists with graded relevance. It is fast and deterministic.
    Labels are relevance from 0 on; by default a label below 0 marks padding.

    Each item's rank is replaced by a smooth one. With scores s, labels l and weights w (1 by default):
    `-sum_i w_i (2^l_i - 1) / log2(1 + rank_i) / IDCG` with `rank_i = 1 + sum_{j != i} sigmoid((s_j - s_i) / tau)`. IDCG
    is the DCG of the best order, its ranks exact and its weights 1.

    Args:
      tau: temperature, a positive number in units of the scores. As it goes to 0 the loss becomes minus the NDCG.
      k: number of ranks that count; None for all. An item whose smooth rank lies between k and k + 1 counts in
        proportion, `k + 1 - rank_i`.
      gain: gain of a label l: `"exponential"`, 2^l - 1, or `"linear"`, l.
      discount: discount of rank r: `"log2"`, 1 / log2(1 + r), or `"reciprocal"`, 1 / r.
      normalization: `"ideal"` divides by the DCG of the best order, which gives NDCG; `"none"` gives DCG.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Weights multiply the gains in the DCG, not in the ideal one.
    A list without a label above 0 gives 0. A label or score that is not finite, or a label below 0 that is not padding,
    makes the loss of its list NaN. Tied scores have equal smooth ranks, the mean of the ranks that they share.

    TF-Ranking's `ApproxNDCGLoss(temperature=tau)` has the same value without weights and with weights of lists. It
    reduces item weights to one weight per list, their mean weighted by the labels.

    Raises:
      ValueError: `tau` is not positive, `k` is below 1, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: that of `ops.approx_ndcg_loss`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[0.0, 2.0, 1.0]]), tf.constant([[0.3, 0.9, 0.4]])
    >>> round(float(ks.ApproxNDCGLoss(tau=0.1)(labels, scores)), 4)
    -0.9823
    >>> round(float(ks.ApproxNDCGLoss(tau=0.001)(labels, scores)), 4)
    -1.0

    Source: T. Qin, T.-Y. Liu, H. Li, "A General Approximation Framework for Direct Optimization of Information
    Retrieval Measures", Information Retrieval 13, 2010; S. Bruch, M. Zoghi, M. Bendersky, M. Najork, "Revisiting
    Approximate Metric Optimization in the Age of Deep Neural Networks", SIGIR 2019.
    """

    def __init__(
        self,
        tau: float = 0.1,
        *,
        k: int | None = None,
        gain: str = "exponential",
        discount: str = "log2",
        normalization: str = "ideal",
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class GumbelApproxNDCGLoss(OperatorLoss, operator=gumbel_approx_ndcg_loss):
    """Compute the mean of ApproxNDCG over samples of the scores with Gumbel noise.

    The noise lets training leave orders in which ApproxNDCG gets stuck. By default a label below 0 marks padding.

    A sample is `s_i + noise_scale G_i` with independent standard Gumbel noise G. With `noise_scale=1` the order of a
    sample has the Plackett-Luce distribution of the scores. The result is the mean of `ApproxNDCGLoss` over the
    samples.

    Args:
      tau: temperature, positive, in units of the scores with their noise.
      k: number of ranks that count; None for all.
      gain: gain of a label l: `"exponential"`, 2^l - 1, or `"linear"`, l.
      discount: discount of rank r: `"log2"`, 1 / log2(1 + r), or `"reciprocal"`, 1 / r.
      normalization: `"ideal"` divides by the DCG of the best order, which gives NDCG; `"none"` gives DCG.
      num_samples: number of samples of each list.
      noise_scale: factor of the Gumbel noise, at least 0.
      seed: integer seed or None. Each call draws new noise from TensorFlow's generator. With a seed and
        `tf.random.set_seed` runs repeat, except under XLA, whose generator takes no seed.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Lists without a label above 0, and empty lists, give 0. A
    score or label that is not finite, or a label below 0 that is not padding, makes the loss of its list NaN.

    TF-Ranking's `GumbelApproxNDCGLoss` has the same value for the same noise, with `tau` its `tau` times its
    `gumbel_temperature`. See the documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `tau` is not positive, `k` or `num_samples` is below 1, `noise_scale` is negative, a name is unknown,
        or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: that of `ops.approx_ndcg_loss`, per sample.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[9.0, -9.0, 0.0]])
    >>> -1 <= float(ks.GumbelApproxNDCGLoss(seed=1)(labels, scores)) <= 0
    True

    Source: S. Bruch, S. Han, M. Bendersky, M. Najork, "A Stochastic Treatment of Learning to Rank Scoring Functions",
    WSDM 2020.
    """

    def __init__(
        self,
        tau: float = 0.1,
        *,
        k: int | None = None,
        gain: str = "exponential",
        discount: str = "log2",
        normalization: str = "ideal",
        num_samples: int = 8,
        noise_scale: float = 1.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class ApproxMRRLoss(OperatorLoss, operator=approx_mrr_loss):
    """Compute minus the mean reciprocal of the smooth ranks of relevant items: ApproxMRR.

    Use it if one item per list is relevant and its rank counts. By default a label below 0 marks padding.

    With scores s, labels y and weights w (1 by default): `-sum_i w_i y_i / rank_i / sum_i y_i` with `rank_i = 1 +
    sum_{j != i} sigmoid((s_j - s_i) / tau)`. It is the mean of the reciprocal ranks weighted by the labels, from -1
    (one relevant item, ranked first) to 0.

    Args:
      tau: temperature, positive, in units of the scores. As it goes to 0 the ranks become exact.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Lists without a label above 0, and empty lists, give 0. A
    score or label that is not finite, or a label below 0 that is not padding, makes the loss of its list NaN.

    TF-Ranking's `ApproxMRRLoss` has the same value without weights and with weights of lists. See the documentation,
    "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `tau` is not positive, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: that of `ops.approx_ndcg_loss`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[0.0, 0.0, 1.0]]), tf.constant([[0.3, 0.9, 0.4]])
    >>> round(float(ks.ApproxMRRLoss()(labels, scores)), 4)
    -0.442

    Source: T. Qin, T.-Y. Liu, H. Li, "A General Approximation Framework for Direct Optimization of Information
    Retrieval Measures", Information Retrieval 13, 2010.
    """

    def __init__(self, tau: float = 0.1, **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
