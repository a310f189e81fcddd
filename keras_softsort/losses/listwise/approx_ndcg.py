"""Minus the NDCG with smooth ranks: ApproxNDCG."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.losses._operator_loss import ScoreOperatorLoss
from keras_softsort.ops.ranking._dcg import ndcg_options
from keras_softsort.ops.ranking.listwise.approx_ndcg import approx_ndcg


@export
class ApproxNDCGLoss(ScoreOperatorLoss):
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
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Weights multiply the gains in the DCG, not in the ideal one.
    A list without a label above 0 gives 0. A label or score that is not finite, or a label below 0 that is not padding,
    makes the loss of its list NaN. Tied scores have equal smooth ranks, the mean of the ranks that they share.

    TF-Ranking's `ApproxNDCGLoss(temperature=tau)` has the same value without weights and with weights of lists. It
    reduces item weights to one weight per list, their mean weighted by the labels.

    Raises:
      ValueError: `tau` is not positive, `k` is below 1, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: that of `ops.approx_ndcg`.

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

    _operator = staticmethod(approx_ndcg)
    _options = ("tau", "k", "gain", "discount", "normalization")

    def __init__(
        self,
        tau: float = 0.1,
        *,
        k: int | None = None,
        gain: str = "exponential",
        discount: str = "log2",
        normalization: str = "ideal",
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "approx_ndcg",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.tau = arguments.positive_number("tau", tau)
        options = ndcg_options(k, gain, discount, normalization, ranks_are_soft=True)
        self.k, self.gain, _, self.normalization = options
        self.discount = discount
