"""A model of clicks as examination times relevance, trained by expectation maximization."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.losses._item_logits_loss import ItemLogitsLoss
from keras_softsort.ops.ranking.pointwise._items import NORMALIZATIONS
from keras_softsort.ops.ranking.pointwise.click_em import click_em


@export
class ClickEMLoss(ItemLogitsLoss):
    """Compute the expectation-maximization loss of clicks as examination times relevance.

    Use it to learn relevance from clicks that depend on the position of an item, too. By default a label below 0 marks
    padding.

    Each item has two logits, for being examined and for being relevant. In this model a user clicks an item that is
    both. The posterior probabilities of examination and relevance, given the clicks, are computed from the logits,
    without gradient; they are 1 for a clicked item. The loss of an item is the weighted sum of the binary
    cross-entropies of the two logits with these probabilities as targets.

    Args:
      exam_loss_weight: weight of the cross-entropy of examination, at least 0.
      rel_loss_weight: weight of the cross-entropy of relevance, at least 0.
      normalization: divisor of the sum over items. `"list"`: the number of valid items. `"none"`: 1.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_pred` holds logits `[batch, n, 2]`, or `[batch, 2]` with `lists="batch"`, dense or ragged: first of examination,
    then of relevance. `y_true` holds clicks, 1 or more for a clicked item. For its shape, masks and weights see
    `ListLoss`. Empty lists give 0. A logit or label that is not finite makes the loss of its list NaN.

    TF-Ranking's `ClickEMLoss` is the mean over all `batch * n` items, padding included. See the documentation, "Coming
    from TF-Ranking: losses".

    Raises:
      ValueError: a weight is negative, `normalization` is unknown, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, logits = tf.constant([[1.0, 0.0]]), tf.constant([[[0.6, 0.9], [0.8, 0.2]]])
    >>> round(float(ks.ClickEMLoss()(labels, logits)), 4)
    1.1463

    Source: X. Wang, N. Golbandi, M. Bendersky, D. Metzler, M. Najork, "Position Bias Estimation for Unbiased Learning
    to Rank in Personal Search", WSDM 2018.
    """

    _operator = staticmethod(click_em)
    _options = ("exam_loss_weight", "rel_loss_weight", "normalization")

    def __init__(
        self,
        *,
        exam_loss_weight: float = 1.0,
        rel_loss_weight: float = 1.0,
        normalization: str = "list",
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "click_em",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.exam_loss_weight = arguments.non_negative_number("exam_loss_weight", exam_loss_weight)
        self.rel_loss_weight = arguments.non_negative_number("rel_loss_weight", rel_loss_weight)
        self.normalization = arguments.one_of("normalization", normalization, NORMALIZATIONS)
