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

    The formula, edge cases, errors, cost and source are those of `ops.approx_ndcg_loss`.

    Args:
      tau: temperature in units of the scores; see `ListLoss`. As it goes to 0 the loss becomes minus the NDCG.
      k: number of ranks that count; None for all.
      gain: gain of a label l: `"exponential"`, 2^l - 1, or `"linear"`, l.
      discount: discount of rank r: `"log2"`, 1 / log2(1 + r), or `"reciprocal"`, 1 / r.
      normalization: `"ideal"` divides by the DCG of the best order, which gives NDCG; `"none"` gives DCG.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[0.0, 2.0, 1.0]]), tf.constant([[0.3, 0.9, 0.4]])
    >>> round(float(ks.ApproxNDCGLoss(tau=0.1)(labels, scores)), 4)
    -0.9823
    >>> round(float(ks.ApproxNDCGLoss(tau=0.001)(labels, scores)), 4)
    -1.0
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

    The noise lets training leave orders in which ApproxNDCG gets stuck.

    The formula, edge cases, errors, cost and source are those of `ops.gumbel_approx_ndcg_loss`.

    Args:
      tau: temperature in units of the scores, with their noise; see `ListLoss`.
      k, gain, discount, normalization: see `ApproxNDCGLoss`.
      num_samples: number of samples of each list.
      noise_scale: factor of the Gumbel noise, at least 0.
      seed: integer or None; see `ListLoss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[9.0, -9.0, 0.0]])
    >>> -1 <= float(ks.GumbelApproxNDCGLoss(seed=1)(labels, scores)) <= 0
    True
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

    Use it if one item per list is relevant and its rank counts. The loss is -1 if that item is first.

    The formula, edge cases, errors, cost and source are those of `ops.approx_mrr_loss`.

    Args:
      tau: temperature in units of the scores; see `ListLoss`. As it goes to 0 the ranks become exact.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[0.0, 0.0, 1.0]]), tf.constant([[0.3, 0.9, 0.4]])
    >>> round(float(ks.ApproxMRRLoss()(labels, scores)), 4)
    -0.442
    """

    def __init__(self, tau: float = 0.1, **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
