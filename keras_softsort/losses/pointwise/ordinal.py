"""The cross-entropy of the levels that a label reaches."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.losses._item_logits_loss import ItemLogitsLoss
from keras_softsort.ops.ranking.pointwise._items import NORMALIZATIONS
from keras_softsort.ops.ranking.pointwise.ordinal import ordinal


@export
class OrdinalLoss(ItemLogitsLoss):
    """Compute the binary cross-entropy of each level of an ordinal label.

    Use it for labels of a few grades, whose steps need not be equal. By default a label below 0 marks padding.

    Each item has m logits, and logit l is that of the label being at least l, for the levels l = 1, ..., m. The loss of
    an item is the sum over levels of the binary cross-entropy of logit l with the target 1 if `y_i >= l`, else 0, times
    the weight of the item. To rank by such a model, score an item by the sum of its m sigmoids, the expected label.

    Args:
      use_fraction_label: whether a label between two levels has a fractional target for the upper one. The label 1.2
        then has the targets 1 and 0.2, otherwise 1 and 0.
      normalization: divisor of the sum over items. `"list"`: the number of valid items. `"none"`: 1.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_pred` holds logits `[batch, n, m]`, as a `Dense(m)` per item gives them, or `[batch, m]` with `lists="batch"`,
    dense or ragged. `y_true`, masks and weights: see `ListLoss`. Empty lists give 0. A logit or label that is not
    finite makes the loss of its list NaN.

    TF-Ranking's `OrdinalLoss` is the mean over all `batch * n` items, padding included. See the documentation, "Coming
    from TF-Ranking: losses". Its `ordinal_size` is the last axis of the logits.

    Raises:
      ValueError: `normalization` is unknown, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n m) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, logits = tf.constant([[1.0, 0.0]]), tf.constant([[[0.6, 0.2], [0.8, 0.3]]])
    >>> round(float(ks.OrdinalLoss()(labels, logits)), 4)
    1.6305

    Source: Z. Niu, M. Zhou, L. Wang, X. Gao, G. Hua, "Ordinal Regression with Multiple Output CNN for Age Estimation",
    CVPR 2016; P. Pobrotyn, T. Bartczak, M. Synowiec, R. Bialobrzeski, J. Bojar, "Context-Aware Learning to Rank with
    Self-Attention", SIGIR eCom 2020.
    """

    _operator = staticmethod(ordinal)
    _options = ("use_fraction_label", "normalization")

    def __init__(
        self,
        *,
        use_fraction_label: bool = False,
        normalization: str = "list",
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "ordinal",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.use_fraction_label = arguments.boolean("use_fraction_label", use_fraction_label)
        self.normalization = arguments.one_of("normalization", normalization, NORMALIZATIONS)
