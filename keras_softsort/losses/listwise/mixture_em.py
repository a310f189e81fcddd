"""A mixture of click models, trained by expectation maximization."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.losses._item_logits_loss import ItemLogitsLoss
from keras_softsort.ops.ranking.listwise.mixture_em import mixture_em


@export
class MixtureEMLoss(ItemLogitsLoss):
    """Compute the expectation-maximization loss of a mixture of click models.

    Use it for clicks of several kinds of users: each list trains mainly the models that explain its clicks best. By
    default a label below 0 marks padding.

    Each item has m logits: the log-odds of a click according to m models. With c_im the binary cross-entropy of the
    click of item i under model m, the list has the responsibilities `p_m = softmax_m(-alpha sum_i c_im)`, which have no
    gradient. The loss of the list is `sum_m p_m sum_i w_i c_im`, with weights w (1 by default).

    Args:
      alpha: at least 0. The larger it is, the more a list trains only the model that fits it best; 0 trains all
        equally.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_pred` holds logits `[batch, n, m]`, as a `Dense(m)` per item gives them, or `[batch, m]` with `lists="batch"`,
    dense or ragged. `y_true` holds clicks, from 0 to 1. For its shape, masks and weights see `ListLoss`. Lists without
    a click, and empty lists, give 0. A logit or label that is not finite makes the loss of its list NaN.

    TF-Ranking's `MixtureEMLoss` has the same value. Its `temperature` has no effect. See the documentation, "Coming
    from TF-Ranking: losses".

    Raises:
      ValueError: `alpha` is negative, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

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

    _operator = staticmethod(mixture_em)
    _options = ("alpha",)

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
