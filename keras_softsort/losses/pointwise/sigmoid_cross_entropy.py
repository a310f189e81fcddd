"""The binary cross-entropy of each item on its own."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.losses._operator_loss import ScoreOperatorLoss
from keras_softsort.ops.ranking.pointwise._items import NORMALIZATIONS
from keras_softsort.ops.ranking.pointwise.sigmoid_cross_entropy import sigmoid_cross_entropy


@export
class SigmoidCrossEntropyLoss(ScoreOperatorLoss):
    """Compute the mean binary cross-entropy of each list's items.

    Use it if the probabilities of clicks matter, not only the order. By default a label below 0 marks padding.

    With logits s, labels y and weights w (1 by default) an item costs `-w_i (y_i log p_i + (1 - y_i) log(1 - p_i))`
    with `p_i = 1 / (1 + exp(-s_i))`.

    Args:
      normalization: divisor of the sum over items. `"list"`: the number of valid items. `"none"`: 1.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Empty lists give 0. A score or label that is not finite makes
    the loss of its list NaN.

    TF-Ranking's `SigmoidCrossEntropyLoss` is the mean over all `batch * n` items, padding included. See the
    documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `normalization` is unknown, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[1.0, 0.0]]), tf.constant([[0.6, 0.8]])
    >>> round(float(ks.SigmoidCrossEntropyLoss()(labels, scores)), 4)
    0.8043

    Source: the negative log-likelihood of independent Bernoulli variables; for ranking W. Cooper, F. Gey, D. Dabney,
    "Probabilistic Retrieval Based on Staged Logistic Regression", SIGIR 1992.
    """

    _operator = staticmethod(sigmoid_cross_entropy)
    _options = ("normalization",)

    def __init__(
        self,
        *,
        normalization: str = "list",
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "sigmoid_cross_entropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.normalization = arguments.one_of("normalization", normalization, NORMALIZATIONS)
