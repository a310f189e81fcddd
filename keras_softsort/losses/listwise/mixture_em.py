"""Clicks of each list by one of several models, by expectation maximization."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort.losses._item_logits_loss import ItemLogitsLoss
from keras_softsort.ops.ranking.listwise.mixture_em import mixture_em


@register
class MixtureEMLoss(ItemLogitsLoss):
    """Compute the expectation-maximization loss of a mixture of click models.

    For clicks of users of several kinds: each list is assigned to the models that explain it. By default a label below
    0 marks padding.

    The m logits of an item are those of m models of its click. A model's cost for a list is the sum of its items'
    binary cross-entropies; with its weights p, which are the softmax of minus alpha times these costs and have no
    gradient, the list costs `sum_m p_m sum_i w_i cost_im`.

    Args:
      alpha: how sharply a list is assigned to the models that fit it, at least 0.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_pred` holds logits `[batch, n, m]`, with `lists="batch"` `[batch, m]`, dense or ragged. `y_true`, masks and
    weights: see `ListLoss`. Lists without a click, and empty ones, give 0. A logit or label that is not finite makes
    its list's result NaN.

    TF-Ranking's `MixtureEMLoss` has the same value (its `temperature` has no effect): see the documentation, "Coming
    from TF-Ranking: losses".

    Raises:
      ValueError: `alpha` < 0, an unknown name, shapes that do not match.
      TypeError: an argument of another type, `y_pred` is not floating-point.

    Cost: O(n m) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, logits = tf.constant([[1.0, 0.0]]), tf.constant([[[0.6, 0.9], [0.8, 0.2]]])
    >>> round(float(ks.MixtureEMLoss()(labels, logits)), 4)
    1.3199

    Source: L. Yan, Z. Qin, H. Zhuang, X. Wang, M. Bendersky, M. Najork, "Revisiting Two-tower Models for Unbiased
    Learning to Rank", SIGIR 2022.
    """

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mixture_em",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.alpha = arguments.non_negative_number("alpha", alpha)

    def logit_losses(self, logits: tf.Tensor, labels: tf.Tensor, *, mask: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """The loss of each list: [batch]."""
        return mixture_em(
            logits,
            labels,
            alpha=self.alpha,
            mask=mask,
            weights=weights,
        )

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            **super().get_config(),
            "alpha": self.alpha,
        }
