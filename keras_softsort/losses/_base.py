"""What all list losses share: masks and weights resolved before the maths, and the mean over lists after it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._keras import keras
from keras_softsort._lists import Lists, predicted_lists
from keras_softsort.ops import _checks

REDUCTIONS = ("none", "sum", "sum_over_batch_size")


class ListLoss(keras.losses.Loss):
    """A loss with one value a list, `list_losses`, each list normalised by itself.

    Keras would apply the mask of `y_pred` and the weights to what `call` returns, where an item's share is already
    lost (and `[batch]` against `[batch, n]` would broadcast): here they are resolved first.
    """

    def __init__(self, *, reduction: str | None = "sum_over_batch_size", name: str | None = None) -> None:
        super().__init__(reduction=_checks.one_of("reduction", reduction or "none", REDUCTIONS), name=name)

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list, weighted: [batch]."""
        raise NotImplementedError

    @tf.autograph.experimental.do_not_convert
    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> tf.Tensor:
        """The reduced loss: the mean over lists, their sum, or with reduction `None` each list's."""
        with tf.name_scope(self.name or type(self).__name__):
            losses = self._weighted(y_true, y_pred, sample_weight)
            if self.reduction == "none":
                return losses
            total = tf.reduce_sum(losses)
            if self.reduction == "sum":
                return total
            return tf.math.divide_no_nan(total, tf.cast(tf.shape(losses)[0], losses.dtype))

    def call(self, y_true: Any, y_pred: Any) -> tf.Tensor:
        """The loss of each list, without weights: [batch]."""
        return self._weighted(y_true, y_pred, None)

    def _weighted(self, y_true: Any, y_pred: Any, sample_weight: Any) -> tf.Tensor:
        return self.list_losses(*predicted_lists(y_true, y_pred, sample_weight))
