"""The squared error of each item on its own."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.losses._operator_loss import ScoreOperatorLoss
from keras_softsort.ops.ranking.pointwise._items import NORMALIZATIONS
from keras_softsort.ops.ranking.pointwise.mean_squared import mean_squared


@export
class MeanSquaredLoss(ScoreOperatorLoss):
    """Compute the mean squared error of each list's scores.

    This is plain regression of the labels, with the masks and weights of a ranking loss. By default a label below 0
    marks padding.

    With scores s, labels y and weights w (1 by default) an item costs `w_i (s_i - y_i)^2`.

    Args:
      normalization: divisor of the sum over items. `"list"`: the number of valid items. `"none"`: 1.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Empty lists give 0. A score or label that is not finite makes
    the loss of its list NaN.

    TF-Ranking's `MeanSquaredLoss` is the mean over all `batch * n` items, padding included. See the documentation,
    "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `normalization` is unknown, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[1.0, 0.0]]), tf.constant([[0.6, 0.8]])
    >>> round(float(ks.MeanSquaredLoss()(labels, scores)), 4)
    0.4

    Source: least squares; for ranking D. Cossock, T. Zhang, "Subset Ranking Using Regression", COLT 2006.
    """

    _operator = staticmethod(mean_squared)
    _options = ("normalization",)

    def __init__(
        self,
        *,
        normalization: str = "list",
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_squared",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.normalization = arguments.one_of("normalization", normalization, NORMALIZATIONS)
