"""Minus the NDCG with ranks made smooth: ApproxNDCG."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort._targets.lists import Lists
from keras_softsort.losses._scores import TemperatureLoss
from keras_softsort.ops._core import validation
from keras_softsort.ops.ranking._dcg import GAINS, discounts, negative_ndcg, rank_discounts, relative_gains
from keras_softsort.ops.ranking._sigmoid_ranks import sigmoid_ranks


@register
class ApproxNDCGLoss(TemperatureLoss):
    """Minus the NDCG of each list, with approximate ranks in place of ranks: from -1 (the best order) to 0.

    Of a list with scores s, labels l and weights w (1 by default):
    `-sum_i w_i (2^l_i - 1) / log2(1 + rank_i) / IDCG` with `rank_i = 1 + sum_{j != i} sigmoid((s_j - s_i) / tau)`,
    where IDCG is the DCG of the best order, its ranks exact and its weights 1. The loss is the mean over lists.

    Args:
      tau: temperature, a positive number in units of the scores. As it goes to 0 the loss becomes minus the NDCG.
      gain: of a label l: `"exponential"`, 2^l - 1, or `"linear"`, l.
      reduction: `"sum_over_batch_size"` (mean over lists), `"sum"`, or `None` or `"none"`: each list's.
      name: of the loss.

    Call arguments: `y_true` `[batch, n]`, relevance from 0 on, a label below 0 being padding; `y_pred` `[batch, n]`,
    scores (both dense or ragged); `sample_weight` `[batch]`, `[batch, 1]` or `[batch, n]`, which multiplies the gains
    in the DCG and not in the ideal one. A Keras mask on `y_pred` marks items. Padding changes nothing. A list without a
    label above 0, and an empty one, costs 0 with zero gradient. Tied scores have equal ranks, the mean of those that
    they take up. Computed in float32 for half precision. A label or score that is not finite makes its list's loss NaN.

    TF-Ranking's `ApproxNDCGLoss(temperature=tau)` has the same value without weights and with weights of lists. It
    makes of weights of items one weight a list, their mean weighted by the labels.

    Raises:
      ValueError: `tau` <= 0, unknown `gain` or `reduction`, shapes that do not match.
      TypeError: `tau` is not a number, `y_pred` is not floating-point.

    Cost: O(n^2) time a list, forward and backward; pairs are not kept between the two, and under XLA never stored.

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

    needs_gains = True

    def __init__(
        self,
        tau: float = 0.1,
        *,
        gain: str = "exponential",
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "approx_ndcg",
        dtype: Any = None,
    ) -> None:
        super().__init__(tau, lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.gain = arguments.one_of("gain", gain, GAINS)

    def score_losses(self, lists: Lists, scores: tf.Tensor) -> tf.Tensor:
        """The loss of each list: [batch]."""
        gains = relative_gains(lists.labels, lists.mask, self.gain)
        ranks = sigmoid_ranks(scores, validation.temperature(self.tau, scores.dtype), lists.mask)
        dcg = tf.reduce_sum(lists.weights * gains * discounts(ranks), axis=-1)
        return negative_ndcg(dcg, gains, rank_discounts(tf.shape(gains)[1], gains.dtype))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "gain": self.gain}
