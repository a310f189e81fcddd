"""Minus the reciprocal rank with smooth ranks: ApproxMRR."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.losses._operator_loss import ScoreOperatorLoss
from keras_softsort.ops.ranking.listwise.approx_mrr import approx_mrr


@export
class ApproxMRRLoss(ScoreOperatorLoss):
    """Compute minus the mean reciprocal of the smooth ranks of relevant items: ApproxMRR.

    Use it if one item per list is relevant and its rank counts. By default a label below 0 marks padding.

    With scores s, labels y and weights w (1 by default): `-sum_i w_i y_i / rank_i / sum_i y_i` with `rank_i = 1 +
    sum_{j != i} sigmoid((s_j - s_i) / tau)`. It is the mean of the reciprocal ranks weighted by the labels, from -1
    (one relevant item, ranked first) to 0.

    Args:
      tau: temperature, positive, in units of the scores. As it goes to 0 the ranks become exact.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Lists without a label above 0, and empty lists, give 0. A
    score or label that is not finite, or a label below 0 that is not padding, makes the loss of its list NaN.

    TF-Ranking's `ApproxMRRLoss` has the same value without weights and with weights of lists. See the documentation,
    "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `tau` is not positive, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: that of `ops.approx_ndcg`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[0.0, 0.0, 1.0]]), tf.constant([[0.3, 0.9, 0.4]])
    >>> round(float(ks.ApproxMRRLoss()(labels, scores)), 4)
    -0.442

    Source: T. Qin, T.-Y. Liu, H. Li, "A General Approximation Framework for Direct Optimization of Information
    Retrieval Measures", Information Retrieval 13, 2010.
    """

    _operator = staticmethod(approx_mrr)
    _options = ("tau",)

    def __init__(
        self,
        tau: float = 0.1,
        *,
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "approx_mrr",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.tau = arguments.positive_number("tau", tau)
