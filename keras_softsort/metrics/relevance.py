"""Metrics of relevance: NDCG, DCG, ERR, precision, recall, hits, reciprocal rank, average precision, pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal.export import export
from keras_softsort.metrics._base import RankingMetric, RelevanceMetric
from keras_softsort.ops.metrics.positions import pair_accuracy


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
      y_pred: scores of such a shape, as a `Dense(1)` per item gives them. An item with the score -inf was not
        retrieved; see `ops.ndcg`.
      sample_weight: a number, `[batch]` or `[batch, 1]` (one weight per list), or `[batch, n]` (one per item), not
        negative. Weights of items multiply the gains, and a list weighs `sum w g / sum g`, or without gain the mean
        weight of its items. Items of weight 0 are left out.

    With `lists="batch"` or `"groups"` each row is one item: scores and labels are `[batch]` or `[batch, 1]`. With
    `"groups"`, `y_true` is `[batch, 2]`: group ids in the first column, then labels. Padding, even NaN, never
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

    _operator = staticmethod(ops.ndcg)

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

    _operator = staticmethod(ops.dcg)

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


@export
class Precision(RelevanceMetric):
    """The share of relevant items among the first k, averaged over lists: Precision@k.

    Use it if users see k items and their order does not matter. The formula and cost are those of `ops.precision`.
    Padding, shapes, empty lists, NaN and errors are as in `NDCG`.

    Args:
      k, min_label, ties: as in `ops.precision`.
      no_relevant: the value of a list without relevant items: `"zero"`, `"one"` or `"skip"`; see `NDCG`.
      **kwargs: `lists`, `padding`, `name` and `dtype`; see `NDCG`.

    Call arguments:
      y_true, y_pred: see `NDCG`.
      sample_weight: a number, `[batch]` or `[batch, 1]` (one weight per list), or `[batch, n]` (one per item), not
        negative. A list weighs as much as its relevant items do on average, or without relevant items as much as all
        its items. Items of weight 0 are left out.

    Example:
      >>> round(float(ks.Precision(k=2)([[1, 0, 1, 1]], [[0.3, 0.9, 0.4, 0.1]])), 4)
      0.5
    """

    _operator = staticmethod(ops.precision)


@export
class Recall(RelevanceMetric):
    """The share of relevant items that are among the first k, averaged over lists: Recall@k.

    For a first stage that must not lose items. The formula is that of `ops.recall`. The rest is as in `Precision`.

    Example:
      >>> round(float(ks.Recall(k=2)([[1, 0, 1, 1]], [[0.3, 0.9, 0.4, 0.1]])), 4)
      0.3333
    """

    _operator = staticmethod(ops.recall)


@export
class Hits(RelevanceMetric):
    """The share of lists with a relevant item among the first k: Hits@k.

    Use it if one relevant item is enough. The rest is as in `Precision`; see `ops.hits` for ties.

    Example:
      >>> round(float(ks.Hits(k=2)([[1, 0, 0], [1, 0, 0]], [[0.3, 0.9, 0.4], [0.5, 0.9, 0.4]])), 4)
      0.5
    """

    _operator = staticmethod(ops.hits)


@export
class MRR(RelevanceMetric):
    """The mean reciprocal rank of the first relevant item: MRR@k.

    Use it for known items and answers. The formula and source are those of `ops.mrr`. The rest is as in `Precision`.

    Example:
      >>> round(float(ks.MRR()([[1, 0, 1]], [[0.3, 0.9, 0.4]])), 4)
      0.5
    """

    _operator = staticmethod(ops.mrr)


@export
class MeanAveragePrecision(RankingMetric):
    """The mean of the average precision of lists: MAP@k.

    Use it for binary relevance. The formula is that of `ops.mean_average_precision`. The rest is as in `Precision`.

    Args:
      k, divisor, min_label, ties: as in `ops.mean_average_precision`.
      no_relevant: as in `Precision`.
      **kwargs: `lists`, `padding`, `name` and `dtype`; see `NDCG`.

    Example:
      >>> round(float(ks.MeanAveragePrecision()([[1, 0, 1]], [[0.3, 0.9, 0.4]])), 4)
      0.5833
    """

    _operator = staticmethod(ops.mean_average_precision)

    def __init__(
        self,
        k: int | None = None,
        *,
        divisor: str = "relevant",
        min_label: float = 1.0,
        ties: str = "mean",
        no_relevant: str = "zero",
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class ExpectedReciprocalRank(RankingMetric):
    """The expected reciprocal rank of the item at which a user stops, averaged over lists: ERR@k.

    For graded relevance, where one very relevant item makes later ones worth less. The formula, ties and source are
    those of `ops.expected_reciprocal_rank`. The rest is as in `NDCG`.

    Args:
      k, max_label: as in `ops.expected_reciprocal_rank`.
      no_relevant: as in `Precision`.
      **kwargs: `lists`, `padding`, `name` and `dtype`; see `NDCG`.

    Example:
      >>> round(float(ks.ExpectedReciprocalRank(max_label=2)([[2, 0, 1]], [[0.3, 0.9, 0.4]])), 4)
      0.3125
    """

    _operator = staticmethod(ops.expected_reciprocal_rank)

    def __init__(
        self, k: int | None = None, *, max_label: float = 4.0, no_relevant: str = "zero", **kwargs: Any
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class AverageRelevancePosition(RankingMetric):
    """The mean rank of items, weighted by relevance: ARP. Lower is better.

    Use it if all ranks count alike. `ARP = sum r w y / sum w y` over all lists, where y is the label, w the weight and
    r the rank of an item in its list. A list without a label above 0 does not count. The rest is as in `NDCG`.

    Args:
      ties: see `NDCG`.
      **kwargs: `lists`, `padding`, `name` and `dtype`; see `NDCG`.

    Example:
      >>> round(float(ks.AverageRelevancePosition()([[1, 0, 1]], [[0.3, 0.9, 0.4]])), 4)
      2.5
    """

    _operator = staticmethod(ops.average_relevance_position)

    def __init__(self, *, ties: str = "mean", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)


@export
class OrderedPairAccuracy(RankingMetric):
    """The share of pairs of items with different labels that the scores put in the right order.

    Use it for preferences between items. `accuracy = sum w_i [s_i > s_j] / sum w_i` over the pairs of all lists with
    label_i > label_j, where s are the scores and w the weights. A list without a pair of different labels does not
    count. Labels may be below 0 if they do not mark padding. The rest is as in `NDCG`.

    Args:
      ties: rule for pairs with equal scores. `"mean"`: they count one half, as in the area under the ROC curve.
        `"position"`: they are wrong, as in TF-Ranking.
      average: `"pairs"`: the mean over the pairs of all lists. `"lists"`: the mean of the accuracies of lists, weighted
        by `sample_weight`. With clicks as labels and one list per user this is the users' AUC (GAUC).
      keep_zero_weights: as in `ops.ordered_pair_accuracy`. With events as weights and minus the time as labels, the
        accuracy is then Harrell's concordance index.
      **kwargs: `lists`, `padding`, `name` and `dtype`; see `NDCG`.

    Example:
      >>> round(float(ks.OrderedPairAccuracy()([[2, 0, 1]], [[0.3, 0.9, 0.1]])), 4)
      0.3333
    """

    _operator = staticmethod(pair_accuracy)

    def __init__(
        self, *, ties: str = "mean", average: str = "pairs", keep_zero_weights: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(locals(), **kwargs)
