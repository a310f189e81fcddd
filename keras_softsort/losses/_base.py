"""What all losses share: masks and weights resolved before the maths, and the mean after it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import keras, share_of_replica
from keras_softsort._targets.lists import Lists, predicted_lists

REDUCTIONS = ("none", "sum", "sum_over_batch_size")


class WeightedLoss(keras.losses.Loss):
    """A loss that resolves masks and weights before the maths: Keras would apply them to what `call` returns."""

    def __init__(self, *, reduction: str | None = "sum_over_batch_size", name: str | None = None) -> None:
        super().__init__(reduction=arguments.one_of("reduction", reduction or "none", REDUCTIONS), name=name)

    def weighted_losses(self, y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[tf.Tensor, Any]:
        """The weighted losses [m], and the number that their mean is over."""
        raise NotImplementedError

    @tf.autograph.experimental.do_not_convert
    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> tf.Tensor:
        """The reduced loss: the mean, the sum, or with reduction `None` each."""
        with tf.name_scope(self.name or type(self).__name__):
            losses, count = self.weighted_losses(y_true, y_pred, sample_weight)
            if self.reduction == "none":
                return losses
            total = tf.reduce_sum(losses)
            if self.reduction == "sum":
                return total
            return share_of_replica(tf.math.divide_no_nan(total, tf.cast(count, losses.dtype)))

    def call(self, y_true: Any, y_pred: Any) -> tf.Tensor:
        """The losses without weights: [m]."""
        return self.weighted_losses(y_true, y_pred, None)[0]


class ListLoss(WeightedLoss):
    """A loss with one value a list, `list_losses`, each list normalised by itself.

    In what `call` returns an item's share is already lost, and `[batch]` against `[batch, n]` would broadcast.
    """

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list, weighted: [batch]."""
        raise NotImplementedError

    def weighted_losses(self, y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[tf.Tensor, Any]:
        """The loss of each list [batch], and how many lists there are."""
        losses = self.list_losses(*predicted_lists(y_true, y_pred, sample_weight))
        return losses, tf.shape(losses)[0]
