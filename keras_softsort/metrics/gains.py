"""NDCG and DCG as metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort.metrics._base import RankingMetric
from keras_softsort.ops.metrics.gains import dcg_measures, ndcg_measures


@export
class NDCG(RankingMetric):
    """The normalized discounted cumulative gain, averaged over lists: NDCG@k, from 0 to 1.

    For graded relevance. The formula, cost and source are those of `ops.ndcg`. Other metrics refer to these arguments.

    Args:
      k, gain, discount, ties: as in `ops.ndcg`.
      no_relevant: the value of a list without gain. `"zero"`: 0, as in TF-Ranking, Keras-RS and scikit-learn. `"one"`:
        1, as in LightGBM. `"skip"`: the list does not count.
      **kwargs: `lists` and `padding`, see `losses.ListLoss`; `name`; and `dtype`, that of the result. A model with
        several metrics of one class needs names for them.

    Call arguments:
      y_true: labels `[batch, n]` or `[batch, n, 1]`, dense or ragged, of at least 0; by default, others are padding.
      y_pred: scores of such a shape, as a `Dense(1)` per item gives them.
      sample_weight: a number, `[batch]` or `[batch, 1]` (one weight per list), or `[batch, n]` (one per item), not
        negative. Weights of items multiply the gains, and a list weighs `sum w g / sum g`, or without gain the mean
        weight of its items. Items of weight 0 are left out.

    With `lists="batch"` all shapes lose their first axis: labels and scores are `[batch]` or `[batch, 1]`. So they do
    with `lists="groups"`, and `y_true` has the group ids in a first column: `[batch, 2]`. Padding, even NaN, never
    affects the result. The result is NaN after a list with a NaN score or label, or with a label below 0 that is not
    padding. Empty lists do not count.

    Raises:
      TypeError: `y_pred` is not floating-point, or an argument has another type.
      ValueError: an argument is out of range, a name is unknown, shapes do not match, a weight is negative, or a list
        can hold only one item.

    Example:
      >>> round(float(ks.NDCG(k=2)([[2, 0, 1, -1]], [[0.3, 0.9, 0.4, 5.0]])), 4)
      0.1738
    """

    _measures = staticmethod(ndcg_measures)

    def __init__(
        self,
        k: int | None = None,
        *,
        gain: str | Callable[[tf.Tensor], tf.Tensor] = "exponential",
        discount: str | Callable[[tf.Tensor], tf.Tensor] = "log2",
        ties: str = "mean",
        no_relevant: str = "zero",
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class DCG(RankingMetric):
    """The discounted cumulative gain, averaged over lists: DCG@k.

    Use it if lists with more relevant items should count more. The formula is that of `ops.dcg`. A list has the weight
    `sum w g / sum g`, and without gain the value 0. The rest is as in `NDCG`.

    Args:
      k, gain, discount, ties: see `NDCG`.
      **kwargs: `lists`, `padding`, `name` and `dtype`; see `NDCG`.

    Example:
      >>> round(float(ks.DCG()([[2, 0, 1]], [[0.3, 0.9, 0.4]])), 4)
      2.1309
    """

    _measures = staticmethod(dcg_measures)

    def __init__(
        self,
        k: int | None = None,
        *,
        gain: str | Callable[[tf.Tensor], tf.Tensor] = "exponential",
        discount: str | Callable[[tf.Tensor], tf.Tensor] = "log2",
        ties: str = "mean",
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)
