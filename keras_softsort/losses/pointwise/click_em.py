"""Clicks as examination times relevance, by expectation maximization."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort.losses._item_logits_loss import ItemLogitsLoss
from keras_softsort.ops.ranking.pointwise._items import NORMALIZATIONS
from keras_softsort.ops.ranking.pointwise.click_em import click_em


@register
class ClickEMLoss(ItemLogitsLoss):
    """Compute the expectation-maximization loss of clicks as examination times relevance.

    Learns relevance from clicks and the position bias with it. By default a label below 0 marks padding.

    An item has two logits, of its examination and of its relevance, and is clicked if both are true. With clicks given,
    the probabilities of both are known (1 for a clicked item); they have no gradient. An item costs the binary
    cross-entropies of the two logits with these targets, each times its weight, times the weight of the item.

    Args:
      exam_loss_weight: weight of the cost of examination, at least 0.
      rel_loss_weight: weight of the cost of relevance, at least 0.
      normalization: what the sum over items is divided by: `"list"`, the number of valid items, or `"none"`, 1.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_pred` holds logits `[batch, n, m]`, with `lists="batch"` `[batch, m]`, dense or ragged. `y_true`, masks and
    weights: see `ListLoss`. Empty lists give 0. A logit or label that is not finite makes its list's result NaN.

    TF-Ranking's `ClickEMLoss` is the mean over all `batch * n` items, padding included: see the documentation, "Coming
    from TF-Ranking: losses".

    Raises:
      ValueError: a negative weight, an unknown `normalization`, an unknown name, shapes that do not match.
      TypeError: an argument of another type, `y_pred` is not floating-point.

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

    def logit_losses(self, logits: tf.Tensor, labels: tf.Tensor, *, mask: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """The loss of each list: [batch]."""
        return click_em(
            logits,
            labels,
            exam_loss_weight=self.exam_loss_weight,
            rel_loss_weight=self.rel_loss_weight,
            normalization=self.normalization,
            mask=mask,
            weights=weights,
        )

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            **super().get_config(),
            "exam_loss_weight": self.exam_loss_weight,
            "rel_loss_weight": self.rel_loss_weight,
            "normalization": self.normalization,
        }
